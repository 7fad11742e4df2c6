import BelfryTesting
import Foundation
import HTTPTypes
import Testing

@testable import BelfryService

/// Requests that only older SDKs send.
@Suite struct OldClientTests {
    /// An app's update names a new platform, and its SDK sends the difference to what it registered before.
    @Test func `a PUT with another platform's UUID copies that device`() async throws {
        let (server, other) = try await Self.serverWithTwoPlatforms()
        let old = try await server.device(
            "token-1", on: .android, #","tags":["news","sports"],"device_alias":"Ada's phone","custom_user_id":"ada""#)
        let body = #"{"registration_token":"token-1","tags":{"subscribe":["music"],"unsubscribe":["sports"]}}"#
        let moved = try await server.send(.put, "/v1/registration/\(old.lowercased)", as: other, body)
        #expect(moved.status == 200)
        let uuid = try #require(moved["device_uuid"]?.stringValue)
        #expect(uuid != old.lowercased)
        #expect(moved["tags"] == Self.tags(["music", "news"]), "\(moved)")
        #expect(
            moved["custom_user_id"] == .string("ada") && moved["device_alias"] == .string("Ada's phone"), "\(moved)")
        // An answer that was lost on the way is asked for again.
        let again = try await server.send(.put, "/v1/registration/\(old.lowercased)", as: other, body)
        #expect(again["device_uuid"]?.stringValue == uuid && again["tags"] == moved["tags"], "\(again)")
        // From here on it goes its own way.
        let later = #"{"registration_token":"token-1","tags":{"subscribe":["art"],"unsubscribe":["news"]}}"#
        let next = try await server.send(.put, "/v1/registration/\(uuid)", as: other, later)
        #expect(next["tags"] == Self.tags(["art", "music"]), "\(next)")
        let stale = try await server.send(.put, "/v1/registration/\(old.lowercased)", as: other, later)
        #expect(stale["tags"] == Self.tags(["art", "music"]), "\(stale)")
    }

    @Test func `the PUT's user and alias override the old ones`() async throws {
        let (server, other) = try await Self.serverWithTwoPlatforms()
        let old = try await server.device(
            "t", on: .android, #","tags":["a"],"device_alias":"x","custom_user_id":"ada""#)
        let body = #"{"registration_token":"t","device_alias":"y","custom_user_id":"bob","tags":["b"]}"#
        let moved = try await server.send(.put, "/v1/registration/\(old.lowercased)", as: other, body)
        #expect(moved["tags"] == Self.tags(["b"]) && moved["custom_user_id"] == .string("bob"), "\(moved)")
        #expect(moved["device_alias"] == .string("y"))
    }

    @Test func `a device of another application stays unknown`() async throws {
        let server = try await TestServer()
        let stranger = try await server.store.create(.test(server.vault))
        let platform = try await server.store.create(.test(.androidFCM, of: stranger))
        let old = try await server.device("t", on: .android, #","tags":["a"]"#)
        let user = TestServer.User.raw(TestServer.User.basic(platform.uuid.uuidString, TestServer.secret))
        let moved = try await server.send(
            .put, "/v1/registration/\(old.lowercased)", as: user,
            #"{"registration_token":"t","tags":{"subscribe":["b"],"unsubscribe":[]}}"#)
        #expect(moved.status == 200 && moved["tags"] == Self.tags(["b"]), "\(moved)")
    }

    @Test func `equal Authorization headers are one and different ones are refused`() async throws {
        let server = try await TestServer()
        let right = try #require(TestServer.User.android.header(server))
        let wrong = TestServer.User.basic(server.fcm.uuid.uuidString, "wrong")
        func ask(_ values: [String]) async throws -> TestAnswer {
            var headers = HTTPFields()
            for value in values { headers.append(HTTPField(name: .authorization, value: value)) }
            return try await server.send(.get, "/v1/registration/count", as: .nobody, nil, headers: headers)
        }
        let shouted = TestServer.User.basic(server.fcm.uuid.uuidString.uppercased(), TestServer.secret)
        let quiet = TestServer.User.basic(server.fcm.uuid.uuidString.lowercased(), TestServer.secret)
        for values in [
            [right], [right, right], ["\(right), \(right)"], [right, right.replacing("Basic ", with: "Basic  ")],
            [right, right.replacing("Basic ", with: "basic ")], [shouted, quiet],
        ] {
            #expect(try await ask(values).status == 200, "\(values)")
        }
        for values in [[right, wrong], [wrong, right], ["\(right), \(wrong)"], ["\(right),\(wrong)"]] {
            let answer = try await ask(values)
            #expect(
                answer.status == 401 && answer.message?.contains("2 different Authorization headers") == true,
                "\(answer)")
        }
    }

    @Test func `UUIDs in other spellings work; other texts are warned of`() async throws {
        let server = try await TestServer()
        let device = try await server.device("t", on: .android)
        let bare = device.lowercased.replacing("-", with: "")
        for spelling in ["{\(device)}", bare, " \(device.lowercased)\\n", "urn:uuid:\(device.lowercased)"] {
            let body = #"{"message":{"body":"x"},"target":{"devices":["\#(spelling)"]}}"#
            let answer = try await server.send(.post, "/v1/push", as: .sender, body)
            #expect(answer.status == 200 && answer.headers[.warning] == nil, "\(spelling) \(answer)")
        }
        let body = #"{"message":{"body":"x"},"target":{"devices":["\#(device)","nobody"]}}"#
        let answer = try await server.send(.post, "/v1/push", as: .sender, body)
        let warning = answer.headers[.warning]
        #expect(
            answer.status == 200 && warning?.contains("target.devices has 1 of 2 that are no UUIDs") == true,
            "\(answer)")
    }

    @Test(arguments: [
        "BLACKLISTED", "undefined", "null", "Undefined", "NULL", "nil", "(null)", "blacklisted", "NaN", "None",
    ])
    func `a token that stands for none is refused`(token: String) async throws {
        let server = try await TestServer()
        let answer = try await server.register(#"{"registration_token":"\#(token)"}"#, on: .android)
        #expect(answer.status == 400 && answer.message?.contains("an app sends that has no token") == true, "\(answer)")
    }

    /// With a second platform for Android, whose caller it returns.
    private static func serverWithTwoPlatforms() async throws -> (TestServer, TestServer.User) {
        var server = try await TestServer()
        server.options.verifiesCustomUserIDs = false
        let platform = try await server.store.create(.test(.androidFCM, of: server.application))
        return (server, .raw(TestServer.User.basic(platform.uuid.uuidString, TestServer.secret)))
    }

    private static func tags(_ names: [String]) -> JSONValue {
        .array(names.map { .object(["text": .string($0)]) })
    }
}
