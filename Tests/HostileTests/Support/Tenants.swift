import Foundation

/// An application and what its callers show.
struct TestApplication: Sendable {
    let uuid: String
    let tenant: String
    /// Credentials of its back end.
    let backEnd: String
}

/// A platform, and the credentials of its devices.
struct TestPlatform: Sendable {
    let uuid: String
    let device: String
}

extension TestServer {
    /// An application of a tenant of its own.
    func application(_ name: String = "Bakery") throws -> TestApplication {
        let tenant = try made("tenants", #"{"name":"\#(name)"}"#).string("tenant_uuid")
        let answer = try made("apps", #"{"name":"\#(name)","tenant_uuid":"\#(tenant)"}"#)
        let uuid = try answer.string("app_uuid")
        return TestApplication(uuid: uuid, tenant: tenant, backEnd: basic(uuid, try answer.string("api_key")))
    }

    /// A platform of Web Push, or of Android, whose tokens are plain texts.
    func platform(of application: TestApplication, _ type: PlatformType = .web) throws -> TestPlatform {
        try platform(of: application, type: type.rawValue, credentials: type.credentials)
    }

    func platform(of application: TestApplication, type: String, credentials: String) throws -> TestPlatform {
        let body = #"{"type":"\#(type)","mode":"development","name":"\#(type)","credentials":\#(credentials)}"#
        let answer = try made("apps/\(application.uuid)/platforms", body)
        let uuid = try answer.string("platform_uuid")
        return TestPlatform(uuid: uuid, device: basic(uuid, try answer.string("platform_secret")))
    }

    /// A key that may read an application and nothing else.
    func readOnlyKey(of application: TestApplication) throws -> String {
        let body = #"{"name":"reader","scope":"read-only","app_uuid":"\#(application.uuid)"}"#
        return "Bearer \(try made("keys", body).string("key"))"
    }

    /// A key of an application's admin.
    func adminKey(of application: TestApplication) throws -> String {
        let body = #"{"name":"admin","scope":"app-admin","app_uuid":"\#(application.uuid)"}"#
        return "Bearer \(try made("keys", body).string("key"))"
    }

    private func made(_ path: String, _ body: String) throws -> HTTPAnswer {
        let answer = try send("POST", "/admin/v1/\(path)", body, as: asOperator)
        guard answer.status == 201 else {
            throw BelfryProcess.Failure(description: "POST \(path): \(answer.status) \(answer.text)")
        }
        return answer
    }

    private func basic(_ user: String, _ secret: String) -> String {
        "Basic \(Data("\(user):\(secret)".utf8).base64EncodedString())"
    }
}

enum PlatformType: String {
    case web, android

    var credentials: String {
        switch self {
        case .web: #"{"subject":"mailto:ops@example.org"}"#
        case .android: #"{"gcm_api_key":"\#(String(repeating: "x", count: 39))"}"#
        }
    }
}
