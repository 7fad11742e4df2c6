import Foundation
import Testing

/// A platform that is open to the pages of a shop.
struct WebDoor: Sendable {
    let platform: TestPlatform
    let path: String

    init(_ server: TestServer, of application: TestApplication) throws {
        platform = try server.platform(of: application)
        let answer = try server.send(
            "PUT", "/admin/v1/platforms/\(platform.uuid)/web", #"{"origins":["https://shop.example"]}"#,
            as: server.asOperator)
        let web = try #require(answer["web"] as? [String: Any], "\(answer.text)")
        path = "/web/v1/\(try #require(web["registration_key"] as? String))/registrations"
    }

    /// Registers a browser whose push service is at a host.
    func register(_ host: String, _ server: TestServer) throws -> HTTPAnswer {
        let subscription = HostileJSON.subscription(extra: "0").replacing("push.example.org", with: host)
        return try post(#"{"subscription":\#(subscription)}"#, server)
    }

    func post(_ body: String, _ server: TestServer) throws -> HTTPAnswer {
        try server.send("POST", path, body, ["Origin: https://shop.example"])
    }
}
