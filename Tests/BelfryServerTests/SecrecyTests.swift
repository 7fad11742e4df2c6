import BelfryServer
import BelfryService
import BelfrySimulators
import Foundation
import Testing

/// Secrets entered for a platform, which go in and do not come out again.
extension ServerTests {
    @Suite struct SecrecyTests {
        /// The fields that a person enters, and those of their values that must never be seen again.
        private struct Entry {
            let type: String
            let fields: [String: String]
            let secrets: [String]
        }

        private static func entries() throws -> [Entry] {
            let account = try ServiceAccount(projectID: "7001")
            let pem = account.privateKeyPEM
            // A line from the middle: however a key is spelt, this much of it would be there.
            let line = String(pem.split(separator: "\n")[5])
            let huawei =
                #"{"project_id":"7001","key_id":"k","sub_account":"s","private_key":"\#(pem.replacing("\n", with: "\\n"))"}"#
            let vapid = "jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI"
            return [
                Entry(
                    type: "android-fcm", fields: ["service_account": account.json(tokenURL: "https://oauth.example/t")],
                    secrets: [line]),
                Entry(type: "android", fields: ["gcm_api_key": "gcm-marker-1"], secrets: ["gcm-marker-1"]),
                Entry(type: "web", fields: ["vapid_key": vapid, "subject": "mailto:a@b.org"], secrets: [vapid]),
                Entry(
                    type: "windows8", fields: ["package_sid": "ms-app://s-1", "client_secret": "wns-marker-2"],
                    secrets: ["wns-marker-2"]),
                Entry(
                    type: "bb10",
                    fields: ["application_id": "a", "password": "pap-marker-3", "content_provider_id": "1"],
                    secrets: ["pap-marker-3"]),
                Entry(
                    type: "amazon", fields: ["client_id": "c", "client_secret": "adm-marker-4"],
                    secrets: ["adm-marker-4"]),
                Entry(
                    type: "huawei", fields: ["app_id": "1", "app_secret": "hms-marker-5"], secrets: ["hms-marker-5"]),
                Entry(type: "huawei", fields: ["service_account": huawei], secrets: [line]),
                Entry(
                    type: "webhook",
                    fields: ["url": "https://hooks.example/x", "secret": "webhook-marker-6-0123456789"],
                    secrets: ["webhook-marker-6-0123456789"]),
            ]
        }

        @Test func `the admin API leaks no credentials beyond the VAPID key`()
            async throws
        {
            let entries = try Self.entries()
            try await TestServer.open { server in
                let key = try await server.adminKey()
                var seen = ""
                for entry in entries {
                    let credentials = String(decoding: try JSONEncoder().encode(entry.fields), as: UTF8.self)
                    let made = try await server.admin(
                        "POST", "/apps/\(server.application.application.uuid.lowercased)/platforms", key,
                        #"{"type":"\#(entry.type)","mode":"production","name":"x","credentials":\#(credentials)}"#)
                    #expect(made.contains(" 201 "), "\(entry.type): \(made)")
                    seen += made
                    let uuid = try #require(made.firstMatch(of: /"platform_uuid":"([0-9a-f-]{36})"/)?.1)
                    seen += try await server.admin("GET", "/platforms/\(uuid)", key)
                    seen += try await server.admin(
                        "PUT", "/platforms/\(uuid)/credentials", key, #"{"credentials":\#(credentials)}"#)
                }
                seen += try await server.admin(
                    "GET", "/apps/\(server.application.application.uuid.lowercased)/platforms", key)
                seen += try await server.admin("GET", "/audit", key)
                for secret in entries.flatMap(\.secrets) {
                    let spellings = [
                        secret, Data(secret.utf8).base64EncodedString(), secret.replacing("/", with: "\\/"),
                    ]
                    for spelling in spellings { #expect(!seen.contains(spelling), "\(spelling.prefix(12))") }
                }
                let point =
                    "BH_Nzidw9sRdQYPL7m_bS3tYBzM1e-nvE7rPbjx70VRFx_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"
                #expect(seen.contains(#""public":{"subject":"mailto:a@b.org","vapid_public_key":"\#(point)"}"#))
            }
        }
    }
}

extension TestServer {
    /// The whole answer, head and body, of one request to the admin API.
    func admin(_ method: String, _ path: String, _ key: AdminKey.Text, _ body: String = "") async throws -> String {
        let request =
            "\(method) /admin/v1\(path) HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer \(key.text)\r\n"
            + "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\nConnection: close\r\n\r\n\(body)"
        return try await RawConnection.exchange(Array(request.utf8), with: addresses.http)
    }
}
