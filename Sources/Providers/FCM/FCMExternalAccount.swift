import FoundationEssentials
import Glibc
import HTTP2Client
import NIOPosix
import NIOSSL
public import Outbound

/// The means of a client without a key to authenticate. By default nothing of this machine is used.
///
/// A file of type `external_account` names any file and any URL: its author may be someone else than the machine's owner.
public struct FCMTokenSources: Sendable {
    /// The folders in which subject tokens may be read, as absolute paths.
    public var folders: [String] = []
    /// `http://metadata.google.internal`, or another address of a metadata server; nil for none.
    public var metadataServer: String?
    /// Asks for subject tokens at the URLs that files name; nil for the client's own.
    public var subjects: Outbound?
    /// Asks the metadata server; nil for the client's own.
    public var machine: Outbound?
    /// For all steps to a token together.
    public var deadline = Duration.seconds(20)

    public init() {}
}

/// A file of Workload Identity Federation: the token of another identity provider is exchanged for one of Google's.
///
/// Source: AIP-4117; Google, "Configure Workload Identity Federation"; RFC 8693.
struct ExternalAccount: Sendable {
    enum Source: Sendable {
        case file(String)
        case url(String, headers: [HTTP2Header])
    }

    let audience: String
    let subjectTokenType: String
    let tokenURL: String
    /// Where the exchanged token is turned into one of a service account.
    let impersonationURL: String?
    /// Seconds, of the token of the service account.
    let lifetime: Int64
    let source: Source
    /// The member of a JSON object that has the subject token; nil where it is the whole text.
    let member: String?

    /// The project of the service account, which mostly is that of Firebase.
    var projectID: String? {
        guard let email = impersonationURL?.split(separator: "/").last?.prefix(while: { $0 != ":" }),
            let host = email.split(separator: "@").last, host.hasSuffix(Self.accountsEnding)
        else { return nil }
        return String(host.dropLast(Self.accountsEnding.count))
    }

    private static let accountsEnding = ".iam.gserviceaccount.com"
    private static let lifetimes: ClosedRange<Int64> = 600...43_200
    private static let headersMax = 16

    init(_ json: [UInt8]) throws(FCMCredentialsError) {
        guard let file = try? JSONDecoder().decode(File.self, from: Data(json)) else {
            throw FCMCredentialsError(.file, "a member of the external_account file has the wrong type")
        }
        guard file.workforce_pool_user_project == nil else {
            throw FCMCredentialsError(
                .file, "workforce_pool_user_project is for people who log in, a server needs a workload identity pool")
        }
        audience = try FCMCredentials.plain(file.audience, "audience")
        subjectTokenType = try FCMCredentials.plain(file.subject_token_type, "subject_token_type")
        tokenURL = try FCMCredentials.secureURL(file.token_url ?? "https://sts.googleapis.com/v1/token", "token_url")
        let impersonation = "service_account_impersonation"
        impersonationURL = try file.service_account_impersonation_url.map { url throws(FCMCredentialsError) in
            try FCMCredentials.secureURL(url, "\(impersonation)_url")
        }
        lifetime = file.service_account_impersonation?.token_lifetime_seconds ?? 3_600
        guard Self.lifetimes.contains(lifetime) else {
            throw FCMCredentialsError(
                .file,
                "\(impersonation).token_lifetime_seconds is \(lifetime), it has to be 600 to 43200")
        }
        guard let source = file.credential_source else {
            throw FCMCredentialsError(.file, "credential_source is missing in the file")
        }
        self.source = try Self.source(source)
        member = try Self.member(source.format)
    }

    private static func source(_ source: File.CredentialSource) throws(FCMCredentialsError) -> Source {
        if let environment = source.environment_id {
            throw FCMCredentialsError(
                .file,
                "credential_source.environment_id is \(Outbound.plain(environment.utf8)): credentials of AWS are not supported, "
                    + "credential_source has to have a file or a url")
        }
        guard source.executable == nil, source.certificate == nil else {
            throw FCMCredentialsError(
                .file,
                "credential_source.\(source.executable == nil ? "certificate" : "executable") is not supported, credential_source has to "
                    + "have a file or a url")
        }
        switch (source.file, source.url) {
        case (let path?, nil):
            guard path.hasPrefix("/"), !path.utf8.contains(0) else {
                throw FCMCredentialsError(.file, "credential_source.file has to be an absolute path")
            }
            return .file(path)
        case (nil, let url?):
            let url = try FCMCredentials.plain(url, "credential_source.url")
            guard url.hasPrefix("https://") || url.hasPrefix("http://") else {
                throw FCMCredentialsError(.file, "credential_source.url has to begin with https:// or http://")
            }
            return .url(url, headers: try headers(source.headers ?? [:]))
        default:
            throw FCMCredentialsError(.file, "credential_source has to have either a file or a url")
        }
    }

    /// Names that belong to a connection, or to us, are refused.
    private static func headers(_ given: [String: String]) throws(FCMCredentialsError) -> [HTTP2Header] {
        let field = "credential_source.headers"
        guard given.count <= headersMax else {
            throw FCMCredentialsError(.file, "\(field) are \(given.count), they may be \(headersMax)")
        }
        let ours: Set = [
            "host", "connection", "keep-alive", "proxy-connection", "transfer-encoding", "content-length", "upgrade",
            "te",
            "trailer", "expect",
        ]
        var headers: [HTTP2Header] = []
        for (name, value) in given.sorted(by: { $0.key < $1.key }) {
            let name = name.lowercased()
            let isName = !name.isEmpty && name.utf8.allSatisfy { 0x61...0x7A ~= $0 || 0x30...0x39 ~= $0 || $0 == 0x2D }
            guard isName, name.utf8.count <= 64, !ours.contains(name) else {
                throw FCMCredentialsError(.file, "\(field) may not have \(Outbound.plain(name.utf8))")
            }
            guard value.utf8.count <= 4_096, value.utf8.allSatisfy({ 0x20...0x7E ~= $0 }) else {
                throw FCMCredentialsError(.file, "\(field).\(name) has to be printable ASCII of 4096 bytes at most")
            }
            headers.append(HTTP2Header(name, value))
        }
        return headers
    }

    private static func member(_ format: File.Format?) throws(FCMCredentialsError) -> String? {
        switch format?.type ?? "text" {
        case "text": return nil
        case "json":
            guard let member = format?.subject_token_field_name, !member.isEmpty else {
                throw FCMCredentialsError(
                    .file, "credential_source.format.subject_token_field_name is missing, which type json needs")
            }
            return member
        case let other:
            throw FCMCredentialsError(
                .file, "credential_source.format.type is \(Outbound.plain(other.utf8)), it has to be text or json")
        }
    }

    /// Members that are not read say nothing of how a token is had.
    private struct File: Decodable {
        let audience: String?
        let subject_token_type: String?
        let token_url: String?
        let service_account_impersonation_url: String?
        let service_account_impersonation: Impersonation?
        let credential_source: CredentialSource?
        let workforce_pool_user_project: String?

        struct Impersonation: Decodable { let token_lifetime_seconds: Int64? }

        struct CredentialSource: Decodable {
            let file: String?
            let url: String?
            let headers: [String: String]?
            let format: Format?
            let environment_id: String?
            let executable: Other?
            let certificate: Other?
        }

        struct Format: Decodable {
            let type: String?
            let subject_token_field_name: String?
        }

        struct Other: Decodable {}
    }

    private static let platformScope = "https://www.googleapis.com/auth/cloud-platform"

    /// Exchanges the subject token, and turns the result into a token of the service account if there is one. The reason of a failure
    /// begins with the member of the file whose step failed.
    func grant(
        by outbound: Outbound, _ sources: FCMTokenSources, tls: TLSConfiguration?
    ) async -> Result<AccessGrant, AccessTokenError> {
        let lapsesAt = ContinuousClock.now + sources.deadline
        do throws(AccessTokenError) {
            let subject = try await subjectToken(sources.subjects ?? outbound, sources.folders, tls, until: lapsesAt)
            let exchanged = try await outbound.grant(
                from: tokenURL,
                form: [
                    "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange", "audience": audience,
                    "scope": impersonationURL == nil ? ServiceAccountKey.scope : Self.platformScope,
                    "requested_token_type": "urn:ietf:params:oauth:token-type:access_token",
                    "subject_token_type": subjectTokenType, "subject_token": subject,
                ], tls: tls, deadline: lapsesAt - .now
            ).get(naming: "token_url", without: subject)
            guard let url = impersonationURL else { return .success(exchanged) }
            return .success(try await impersonated(exchanged.token, url, outbound, tls, until: lapsesAt))
        } catch {
            return .failure(error)
        }
    }

    /// Source: Google, IAM Service Account Credentials API, `generateAccessToken`.
    private func impersonated(
        _ token: String, _ url: String, _ outbound: Outbound, _ tls: TLSConfiguration?,
        until lapsesAt: ContinuousClock.Instant
    ) async throws(AccessTokenError) -> AccessGrant {
        let body = #"{"scope":["\#(ServiceAccountKey.scope)"],"lifetime":"\#(lifetime)s"}"#
        let request = OutboundRequest(
            "POST", url,
            headers: [
                HTTP2Header("accept", "application/json"), HTTP2Header("content-type", "application/json"),
                HTTP2Header("authorization", "Bearer \(token)"),
            ], body: Array(body.utf8), tls: tls)
        let answer = await outbound.ask(request, deadline: lapsesAt - .now)
        let grant = try Outbound.grant(answer, from: url)
            .get(naming: "service_account_impersonation_url", without: token)
        // It tells its end by the clock. A token lives as long as was asked for: what may not is refused.
        return AccessGrant(token: grant.token, lifetime: .seconds(lifetime))
    }

    private func subjectToken(
        _ outbound: Outbound, _ folders: [String], _ tls: TLSConfiguration?, until lapsesAt: ContinuousClock.Instant
    ) async throws(AccessTokenError) -> String {
        switch source {
        case .file(let path):
            let result = try? await NIOThreadPool.singleton.runIfActive { TokenFile.contents(of: path, in: folders) }
            guard let result else { throw AccessTokenError(isRefusal: false, "\(TokenFile.field) was not read") }
            return try token(in: try result.get(), of: TokenFile.field)
        case .url(let url, let headers):
            let field = "credential_source.url"
            let request = OutboundRequest(
                "GET", url, headers: headers, tls: tls, answerBytesMax: TokenFile.bytesMax + 1)
            switch await outbound.ask(request, deadline: lapsesAt - .now) {
            case .response(let response) where response.status == 200: return try token(in: response.body, of: field)
            case .response(let response):
                let isRefusal = 300..<500 ~= response.status && ![408, 429].contains(response.status)
                throw AccessTokenError(
                    isRefusal: isRefusal, "\(field): answered \(response.status)",
                    retryAfter: response.headers.retryAfter())
            case .unprocessed(let fault) where [.tls, .addressRefused, .nowhere, .url].contains(fault.code):
                throw AccessTokenError(isRefusal: true, "\(field): \(fault)")
            case .unprocessed(let fault), .unknown(let fault):
                throw AccessTokenError(isRefusal: false, "\(field): \(fault)", fault: fault)
            }
        }
    }

    /// - Parameter bytes: what a file or an answer has.
    func token(in bytes: [UInt8], of field: String) throws(AccessTokenError) -> String {
        guard bytes.count <= TokenFile.bytesMax else {
            throw AccessTokenError(isRefusal: true, "\(field): the subject token is over \(TokenFile.bytesMax) bytes")
        }
        var text = String(decoding: bytes, as: UTF8.self)
        if let member {
            guard let members = try? JSONDecoder().decode([String: TextOrOther].self, from: Data(bytes)),
                let value = members[member]?.text
            else {
                throw AccessTokenError(
                    isRefusal: true,
                    "\(field): what is there is no JSON object with a text as \(Outbound.plain(member.utf8))")
            }
            text = value
        }
        let isBlank = { (byte: UInt8) in byte == 0x20 || 0x09...0x0D ~= byte }
        let rest = text.utf8.drop(while: isBlank)
        let token = rest.lastIndex { !isBlank($0) }.map { String(Substring(rest[...$0])) } ?? ""
        guard Outbound.isWord(token) else {
            throw AccessTokenError(
                isRefusal: true, "\(field): what is there is \(token.isEmpty ? "empty" : "no subject token")")
        }
        return token
    }

    private struct TextOrOther: Decodable {
        let text: String?

        init(from decoder: any Decoder) throws {
            text = try? decoder.singleValueContainer().decode(String.self)
        }
    }
}

extension Result<AccessGrant, AccessTokenError> {
    /// Names the step in the reason of a failure, which a server may have taken from what it was sent.
    func get(naming step: String, without secret: String) throws(AccessTokenError) -> AccessGrant {
        do throws(AccessTokenError) { return try get() } catch {
            throw AccessTokenError(
                isRefusal: error.isRefusal, "\(step): \(error.reason.replacing(secret, with: "..."))",
                retryAfter: error.retryAfter, fault: error.fault)
        }
    }
}

extension Outbound {
    /// The token of the machine's own service account. Source: AIP-4115; Google, "About VM metadata".
    func machineGrant(from server: String, tls: TLSConfiguration?) async -> Result<AccessGrant, AccessTokenError> {
        let path = "/computeMetadata/v1/instance/service-accounts/default/token"
        let url = "\(server)\(path)?scopes=\(ServiceAccountKey.scope)"
        let request = OutboundRequest("GET", url, headers: [HTTP2Header("metadata-flavor", "Google")], tls: tls)
        return Self.grant(await ask(request, deadline: .seconds(5)), from: "\(server), the metadata server,")
    }
}

/// The file of a subject token, which another program writes.
enum TokenFile {
    static let field = "credential_source.file"
    static let bytesMax = 65_536

    /// Reads a regular file that is in one of the folders once all symbolic links are followed, and blocks neither on a pipe nor on a
    /// device.
    static func contents(of path: String, in folders: [String]) -> Result<[UInt8], AccessTokenError> {
        guard let real = resolved(path) else { return unreadable() }
        guard folders.compactMap(resolved).contains(where: { real.hasPrefix($0 == "/" ? $0 : "\($0)/") }) else {
            return refusal("is in no folder that the operator allows, see fcm.token.folders")
        }
        let file = open(real, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard file >= 0 else { return unreadable() }
        defer { close(file) }
        var facts = stat()
        guard fstat(file, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG else { return refusal("is no regular file") }
        var bytes = [UInt8](repeating: 0, count: bytesMax + 1)
        var count = 0
        while count < bytes.count {
            let step = bytes.withUnsafeMutableBytes { bytes in
                let rest = UnsafeMutableRawBufferPointer(rebasing: bytes[count...])
                return read(file, rest.baseAddress, rest.count)
            }
            if step < 0, errno == EINTR { continue }
            guard step >= 0 else { return unreadable() }
            guard step > 0 else { break }
            count += step
        }
        return .success(Array(bytes.prefix(count)))
    }

    /// It may be on its way: a file of Kubernetes is replaced while it is in use.
    private static func unreadable() -> Result<[UInt8], AccessTokenError> {
        .failure(AccessTokenError(isRefusal: false, "\(field) cannot be read: \(word(for: errno))"))
    }

    private static func refusal(_ problem: String) -> Result<[UInt8], AccessTokenError> {
        .failure(AccessTokenError(isRefusal: true, "\(field) \(problem)"))
    }

    private static func resolved(_ path: String) -> String? {
        realpath(path, nil).map { text in
            defer { free(text) }
            return String(cString: text)
        }
    }

    private static func word(for code: Int32) -> String {
        switch code {
        case ENOENT: "there is no such file"
        case EACCES: "this server may not read it"
        default: "error \(code)"
        }
    }
}
