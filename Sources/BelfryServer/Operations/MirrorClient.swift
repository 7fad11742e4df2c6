package import BelfryService
import Foundation
package import FoundationEssentials
import HTTP2Client
import NIOSSL
package import Outbound

/// The PCF push service that an installation takes over from, as devices speak to it.
package struct MirrorClient: MirrorServer {
    private let configuration: MirrorConfiguration
    /// nil trusts what the system trusts.
    private let tls: TLSConfiguration?
    private let outbound: Outbound

    private static let replyBytesMax = 1 << 20

    package init(_ configuration: MirrorConfiguration, outbound: Outbound) {
        self.configuration = configuration
        self.outbound = outbound
        tls = configuration.trustRootFile.map { file in
            var tls = Outbound.standardTLS
            tls.trustRoots = .file(file)
            return tls
        }
    }

    package func tell(_ call: MirrorCall, of uuid: UUID?, on platform: Platform) async -> MirrorVerdict {
        guard let secret = configuration.secrets[platform.uuid] else { return .refused(401) }
        guard let request = request(call, of: uuid, by: platform.uuid, secret) else { return .heard(nil) }
        guard case .response(let response) = await outbound.ask(request, deadline: MirrorWorker.callDeadline) else {
            return .unheard
        }
        switch response.status {
        case 200..<300: return .heard(name(in: response.body))
        case 404 where call.method == .delete: return .heard(nil)
        // A wrong secret or address is the operator's to mend, and no fault of the registration.
        case 300..<400, 401, 403: return .doubted
        case 408, 429, 500...: return .unheard
        case let status: return .refused(status)
        }
    }

    /// nil where there is nothing to tell: a device that it never heard of has ended.
    private func request(_ call: MirrorCall, of uuid: UUID?, by platform: UUID, _ secret: String) -> OutboundRequest? {
        let all = "\(configuration.url)/v1/registration"
        let credentials = Data("\(platform.lowercased):\(secret)".utf8).base64EncodedString()
        var headers = [HTTP2Header("authorization", "Basic \(credentials)")]
        if call.method != .delete { headers.append(HTTP2Header("content-type", "application/json")) }
        var request: OutboundRequest
        switch (call.method, uuid) {
        case (.delete, nil): return nil
        case (.post, _), (.put, nil):
            let body = call.method == .put ? call.asPost : call.body
            request = OutboundRequest("POST", all, headers: headers, body: body, tls: tls)
        case (.put, let uuid?):
            request = OutboundRequest("PUT", "\(all)/\(uuid.lowercased)", headers: headers, body: call.body, tls: tls)
        case (.delete, let uuid?):
            request = OutboundRequest("DELETE", "\(all)/\(uuid.lowercased)", headers: headers, tls: tls)
        }
        request.answerBytesMax = Self.replyBytesMax
        return request
    }

    private func name(in body: [UInt8]) -> UUID? {
        let reply = try? JSONValue(json: body)
        return reply?["device_uuid"]?.stringValue.flatMap { UUID(uuidString: $0) }
    }
}

extension MirrorCall {
    /// A change as a new registration: of tags that are added, the list, which is empty where tags are only removed.
    fileprivate var asPost: [UInt8] {
        guard case .object(var members)? = try? JSONValue(json: body) else { return body }
        if case .object(let tags)? = members["tags"] { members["tags"] = tags["subscribe"] ?? .array([]) }
        var json: [UInt8] = []
        json.append(json: .object(members))
        return json
    }
}

/// The old server that gets registrations too during a dual run.
///
/// Keys: `mirror.url` (the old server; empty for none), `mirror.apps` (UUIDs of applications with commas between them; empty for all),
/// `mirror.secrets.file` (lines of a platform's UUID, a space and its secret there), `mirror.trust.root.file` (certificates to trust
/// instead of the system's).
package struct MirrorConfiguration: Sendable {
    package let url: String
    package let applications: MirroredApplications
    let secrets: [UUID: String]
    let trustRootFile: String?

    /// nil where no old server is named, or not by a URL.
    init?(_ settings: Settings) {
        guard let url = settings.publicURL("mirror.url", isOwn: false) else {
            for key in ["mirror.secrets.file", "mirror.trust.root.file"] { _ = settings.optionalString(key) }
            _ = settings.words("mirror.apps")
            return nil
        }
        self.url = url
        trustRootFile = settings.optionalString("mirror.trust.root.file")?.absolutePath
        applications = Self.applications(settings)
        secrets = Self.secrets(settings)
    }

    private static func applications(_ settings: Settings) -> MirroredApplications {
        let words = settings.words("mirror.apps")
        guard !words.isEmpty else { return .all }
        return .some(
            Set(
                words.compactMap { word in
                    guard let uuid = UUID(uuidString: word) else {
                        settings.note("mirror.apps has `\(word.quotable)`, which is no UUID")
                        return nil
                    }
                    return uuid
                }))
    }

    private static func secrets(_ settings: Settings) -> [UUID: String] {
        guard let path = settings.optionalString("mirror.secrets.file") else {
            settings.note("mirror.url needs mirror.secrets.file, the platforms' secrets on the old server")
            return [:]
        }
        guard let data = settings.contents("mirror.secrets.file", path) else { return [:] }
        var secrets: [UUID: String] = [:]
        for line in String(decoding: data, as: UTF8.self).split(whereSeparator: \.isNewline) {
            let parts = line.split { " ,\t".contains($0) }
            guard parts.count == 2, let uuid = UUID(uuidString: String(parts[0])) else {
                settings.note("mirror.secrets.file has a line that is no UUID, a space and a secret")
                return [:]
            }
            secrets[uuid] = String(parts[1])
        }
        return secrets
    }
}
