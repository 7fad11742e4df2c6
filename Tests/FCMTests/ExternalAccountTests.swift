import Foundation
import Outbound
import Testing

@testable import FCM

/// Files of Workload Identity Federation, which a tenant may have made up.
@Suite struct ExternalAccountTests {
    private static let audience = "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/q"
    private static let impersonation =
        "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/push@bakery.iam.gserviceaccount.com:generateAccessToken"

    /// - Parameter members: JSON in place of the usual; empty takes a member away.
    private static func file(_ members: [String: String] = [:]) -> [UInt8] {
        let usual = [
            "type": #""external_account""#, "audience": "\"\(audience)\"",
            "subject_token_type": #""urn:ietf:params:oauth:token-type:jwt""#,
            "token_url": #""https://sts.googleapis.com/v1/token""#,
            "service_account_impersonation_url": "\"\(impersonation)\"", "credential_source": #"{"file":"/run/token"}"#,
        ].merging(members) { $1 }
        let text = usual.filter { !$0.value.isEmpty }.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ",")
        return Array("{\(text)}".utf8)
    }

    @Test func `the project is that of the service account`() throws {
        let credentials = try FCMCredentials(serviceAccount: Self.file())
        #expect(credentials.projectID == "bakery" && credentials.machineMember == "credential_source.file")
        #expect(
            credentials.tokenURLs.map(\.value) == ["https://sts.googleapis.com/v1/token", Self.impersonation])
        #expect(try FCMCredentials(serviceAccount: Self.file(), project: "shop").projectID == "shop")
        let direct = Self.file(["service_account_impersonation_url": "", "token_url": ""])
        #expect(throws: FCMCredentialsError.self) { try FCMCredentials(serviceAccount: direct) }
        let named = try FCMCredentials(serviceAccount: direct, project: "shop")
        #expect(named.tokenURLs.map(\.key) == ["token_url"])
    }

    @Test(arguments: [
        ("audience", "", "audience is missing"), ("audience", "1", "wrong type"),
        ("subject_token_type", "\"\"", "subject_token_type is missing"),
        ("token_url", #""http://sts.googleapis.com""#, "token_url is http://sts.googleapis.com, it has to be https"),
        ("token_url", #""https://a\\b""#, "token_url contains"),
        ("service_account_impersonation_url", #""file:///etc/passwd""#, "service_account_impersonation_url is file:"),
        (
            "service_account_impersonation", #"{"token_lifetime_seconds":599}"#,
            "service_account_impersonation.token_lifetime_seconds is 599"
        ),
        ("service_account_impersonation", #"{"token_lifetime_seconds":1e99}"#, "wrong type"),
        ("workforce_pool_user_project", "\"1\"", "workforce_pool_user_project"),
        ("credential_source", "", "is missing"),
        ("credential_source", "{}", "either a file or a url"),
        ("credential_source", #"{"file":"/a","url":"https://b"}"#, "either a file or a url"),
        ("credential_source", #"{"file":"a"}"#, "credential_source.file has to be an absolute path"),
        ("credential_source", #"{"file":"/a\u0000b"}"#, "credential_source.file has to be an absolute path"),
        ("credential_source", #"{"url":"file:///etc/passwd"}"#, "credential_source.url has to begin with https://"),
        ("credential_source", #"{"url":"https://a b"}"#, "credential_source.url contains"),
        (
            "credential_source", #"{"environment_id":"aws1","url":"http://169.254.169.254/"}"#,
            "credential_source.environment_id is aws1: credentials of AWS are not supported"
        ),
        (
            "credential_source", #"{"executable":{"command":"/bin/sh"}}"#,
            "credential_source.executable is not supported"
        ),
        (
            "credential_source", #"{"certificate":{"use_default_certificate_config":true}}"#,
            "credential_source.certificate is not supported"
        ),
        ("credential_source", #"{"file":"/a","format":{"type":"xml"}}"#, "credential_source.format.type is xml"),
        ("credential_source", #"{"file":"/a","format":{"type":"json"}}"#, "subject_token_field_name is missing"),
        ("credential_source", #"{"url":"https://a","headers":{"Host":"b"}}"#, "headers may not have host"),
        ("credential_source", #"{"url":"https://a","headers":{"a\r\nb":"c"}}"#, "headers may not have a"),
        ("credential_source", #"{"url":"https://a","headers":{"a":"b\r\nc: d"}}"#, "headers.a has to be printable"),
    ])
    func `an unusable file is refused by its member`(member: String, value: String, words: String) throws {
        let error = #expect(throws: FCMCredentialsError.self) {
            try FCMCredentials(serviceAccount: Self.file([member: value]))
        }
        #expect(error?.code == .file && error?.reason.contains(words) == true, "\(String(describing: error))")
    }

    @Test func `a file may have sixteen headers`() throws {
        func credentials(_ count: Int) throws -> FCMCredentials {
            let headers = (0..<count).map { #""h\#($0)":"v""# }.joined(separator: ",")
            return try FCMCredentials(
                serviceAccount: Self.file(["credential_source": #"{"url":"https://a","headers":{\#(headers)}}"#]))
        }
        #expect(try credentials(16).machineMember == nil)
        #expect(throws: FCMCredentialsError.self) { try credentials(17) }
    }

    @Test(arguments: [
        (nil, " token\r\n", "token"), (nil, "", nil), (nil, "two words", nil), (nil, "\u{1B}[2J", nil),
        ("id", #"{"id":"token","other":[{}]}"#, "token"), ("id", #"{"id":1}"#, nil), ("id", "token", nil),
        ("id", "[]", nil), ("id", #"{"id":""}"#, nil),
    ])
    func `a subject token is found, and never quoted`(member: String?, text: String, found: String?) throws {
        let format = member.map { #","format":{"type":"json","subject_token_field_name":"\#($0)"}"# } ?? ""
        let account = try ExternalAccount(Self.file(["credential_source": #"{"file":"/a"\#(format)}"#]))
        do {
            #expect(try account.token(in: Array(text.utf8), of: "credential_source.file") == found)
        } catch {
            #expect(found == nil && error.isRefusal && error.reason.hasPrefix("credential_source.file: "))
            #expect(!error.reason.contains("words") && !error.reason.utf8.contains(0x1B))
        }
    }

    @Test func `only small regular files in allowed folders are read`() throws {
        let place = FileManager.default.temporaryDirectory.appending(path: "tokens-\(UUID().uuidString)")
        let (allowed, other) = (place.appending(path: "allowed"), place.appending(path: "allowed-not"))
        for folder in [allowed.appending(path: "..data"), other] {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        }
        defer { try? FileManager.default.removeItem(at: place) }
        func path(_ name: String) -> String { allowed.appending(path: name).path }
        func link(_ name: String, to target: String) throws {
            try FileManager.default.createSymbolicLink(atPath: path(name), withDestinationPath: target)
        }
        try Data("secret".utf8).write(to: other.appending(path: "secret"))
        try Data("token".utf8).write(to: allowed.appending(path: "..data/token"))
        try Data(count: TokenFile.bytesMax + 10).write(to: allowed.appending(path: "huge"))
        // As Kubernetes projects a token.
        try link("token", to: "..data/token")
        try link("out", to: "../allowed-not/secret")
        try link("device", to: "/dev/zero")
        try link("loop", to: "loop")
        #expect(mkfifo(path("pipe"), 0o600) == 0)

        /// What was read, or why not.
        func read(_ path: String, in folders: [String]? = nil) -> String {
            switch TokenFile.contents(of: path, in: folders ?? [allowed.path]) {
            case .success(let bytes): String(decoding: bytes, as: UTF8.self)
            case .failure(let error): error.reason
            }
        }
        #expect(read(path("token")) == "token")
        #expect(read(path("huge")).utf8.count == TokenFile.bytesMax + 1)
        let closed = "credential_source.file is in no folder that the operator allows, see fcm.token.folders"
        for outside in [path("out"), path("device"), path("../allowed-not/secret"), "/etc/passwd", "/"] {
            #expect(read(outside) == closed, "\(outside)")
        }
        #expect(read(path("token"), in: []) == closed)
        #expect(read(path("token"), in: ["/no/such/folder", other.path]) == closed)
        #expect(read(path("pipe")) == "credential_source.file is no regular file")
        #expect(read(path("..data")) == "credential_source.file is no regular file")
        #expect(read(path("gone")) == "credential_source.file cannot be read: there is no such file")
        #expect(read(path("loop")).hasPrefix("credential_source.file cannot be read: error"))
    }
}
