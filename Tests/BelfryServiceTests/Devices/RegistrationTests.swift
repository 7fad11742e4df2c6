import BelfryService
import BelfryTesting
import FoundationEssentials
import HTTPTypes
import Testing

/// Requests of the SDKs at `/v1/registration`, and the answers that they expect.
@Suite struct RegistrationTests {
    static let token = "b50edac575bfba07dd019b28b2af7189a3ddda17c806ef14a9abbfd00533f67e"

    /// As the Android SDK of release 1.9 sends it without any setting: everything is there, and empty.
    static let androidPost = """
        {"tags":["beta","alpha"],"device_alias":"My Phone","device_manufacturer":"LGE","device_model":"Nexus 5X",\
        "os":"android-fcm","os_version":"7.1.2","registration_token":"fcm-token-1","custom_user_id":""}
        """

    @Test func `a move to another platform is mirrored with all tags`() async throws {
        var server = try await TestServer()
        server.options.mirrored = .all
        let uuid = try await server.device("token-1", on: .android, #","tags":["a","b"]"#)
        let token = String(repeating: "0a", count: 32)
        // The registration, and all that follows from the move.
        server.crash(afterWrites: 2)
        let reply = try await server.send(
            .put, "/v1/registration/\(uuid.lowercased)", as: .iPhone,
            #"{"registration_token":"\#(token)","tags":{"subscribe":["c"],"unsubscribe":["a"]}}"#)
        #expect(reply.status == 200, "\(reply)")
        let calls = try await server.store.mirrorEntries(limit: 9).map(\.call)
        #expect(calls.map(\.method) == [.post, .put, .put, .delete])
        #expect(try JSONValue(json: calls[2].body)["tags"] == .strings(["b", "c"]))
    }

    @Test func `an android device registers and reads itself back`() async throws {
        let server = try await TestServer()
        let reply = try await server.register(Self.androidPost, on: .android)
        let uuid = try #require(reply["device_uuid"]?.stringValue)
        #expect(reply.status == 200)
        #expect(reply.headers[.contentType] == "application/json;charset=UTF-8")
        #expect(uuid == uuid.lowercased())
        #expect(
            reply.json
                == .object([
                    "device_uuid": .string(uuid), "os": .string("android-fcm"), "os_version": .string("7.1.2"),
                    "device_model": .string("Nexus 5X"), "device_manufacturer": .string("LGE"),
                    "device_alias": .string("My Phone"), "registration_token": .string("fcm-token-1"),
                    "active": .bool(true), "custom_user_id": .null,
                    "tags": .array([.object(["text": .string("alpha")]), .object(["text": .string("beta")])]),
                ]))
        let read = try await server.send(.get, "/v1/registration/\(uuid)", as: .android)
        #expect(read.status == 200)
        #expect(read.json == reply.json)
    }

    @Test func `an iPhone gets nulls for unset fields, never objects`() async throws {
        let reply = try await TestServer().register(#"{"registration_token":"\#(Self.token)","os_version":"12.1"}"#)
        #expect(reply.status == 200)
        #expect(reply["custom_user_id"] == .null && reply["device_alias"] == .null)
        #expect(reply["os"] == .string("ios"))
        #expect(reply["tags"] == .array([]))
    }

    @Test func `one APNs token in either case is one device`() async throws {
        let server = try await TestServer()
        let upper = try await server.device(Self.token.uppercased())
        let lower = try await server.device(Self.token)
        #expect(upper == lower)
        #expect(try await server.send(.get, "/v1/registration/count", as: .iPhone).text == "1")
    }

    @Test func `POST replaces the tags, and none given is none`() async throws {
        let server = try await TestServer()
        let uuid = try await server.device("t", on: .android, #","tags":["a","b"]"#)
        #expect(try await topics(of: uuid, on: server) == ["a", "b"])
        _ = try await server.device("t", on: .android, #","tags":["C"]"#)
        #expect(try await topics(of: uuid, on: server) == ["c"])
        _ = try await server.device("t", on: .android)
        #expect(try await topics(of: uuid, on: server) == [])
    }

    /// As the iOS SDK sends it once its user has logged out: the app registers anew, and leaves out what is unset.
    @Test func `a POST without user or alias clears both`()
        async throws
    {
        var server = try await TestServer()
        server.options.verifiesCustomUserIDs = false
        let ada = #","custom_user_id":"Ada Lovelace","device_alias":"Ada's iPhone""#
        let uuid = try await server.device(Self.token, on: .iPhone, ada)
        #expect(try await server.send(.delete, "/v1/registration/\(uuid)", as: .iPhone).status == 204)
        let reply = try await server.register(#"{"registration_token":"\#(Self.token)","os_version":"12.1"}"#)
        #expect(reply["device_uuid"] == .string(uuid.uuidString.lowercased()))
        #expect(reply["custom_user_id"] == .null)
        #expect(reply["device_alias"] == .null)
        _ = try await server.push(#"{"message":{"body":"Hi Ada"},"target":{"custom_user_ids":["Ada Lovelace"]}}"#)
        let push = try #require(try await server.store.allPushes().last)
        #expect(try await server.reached(by: push).isEmpty)
    }

    @Test func `a PUT without user or alias keeps both`() async throws {
        var server = try await TestServer()
        server.options.verifiesCustomUserIDs = false
        let ada = #","custom_user_id":"Ada Lovelace","device_alias":"Ada's iPhone""#
        let uuid = try await server.device(Self.token, on: .iPhone, ada)
        let reply = try await server.send(
            .put, "/v1/registration/\(uuid)", as: .iPhone, #"{"registration_token":"\#(Self.token)"}"#)
        #expect(reply["custom_user_id"] == .string("Ada Lovelace"))
        #expect(reply["device_alias"] == .string("Ada's iPhone"))
    }

    @Test func `a PUT without a token keeps the device's token`() async throws {
        let server = try await TestServer()
        let uuid = try await server.device("t", on: .android, #","tags":["keep"]"#)
        _ = try await server.send(.delete, "/v1/registration/\(uuid)", as: .android)
        let reply = try await server.send(
            .put, "/v1/registration/\(uuid)", as: .android, #"{"tags":{"subscribe":["new"]}}"#)
        #expect(reply.status == 200)
        #expect(reply["registration_token"] == .string("t") && reply["active"] == .bool(true))
        #expect(try await topics(of: uuid, on: server) == ["keep", "new"])
    }

    @Test(arguments: [
        (#"{"subscribe":["New"],"unsubscribe":["old"]}"#, ["keep", "new"]),
        (#"{"subscribe":[],"unsubscribe":[]}"#, ["keep", "old"]),
        (#"{"subscribe":["new"]}"#, ["keep", "new", "old"]),
        (#"{"unsubscribe":["OLD"]}"#, ["keep"]),
        (#"["only"]"#, ["only"]),
        (#"[]"#, []),
        (#"null"#, ["keep", "old"]),
    ])
    func `a PUT takes deltas or the full array`(tags: String, expected: [String]) async throws {
        let server = try await TestServer()
        let uuid = try await server.device("t", on: .android, #","tags":["keep","old"]"#)
        let reply = try await server.send(
            .put, "/v1/registration/\(uuid)", as: .android, #"{"registration_token":"t","tags":\#(tags)}"#)
        #expect(reply.status == 200)
        #expect(try await topics(of: uuid, on: server) == expected)
    }

    @Test func `a PUT without tags keeps them and the os`() async throws {
        let server = try await TestServer()
        let uuid = try await server.device("t", on: .android, #","tags":["keep"],"os":"android-fcm""#)
        let reply = try await server.send(
            .put, "/v1/registration/\(uuid)", as: .android, #"{"registration_token":"t2","os":"ios"}"#)
        #expect(reply["tags"] == .array([.object(["text": .string("keep")])]))
        #expect(reply["os"] == .string("android-fcm"))
        #expect(reply["registration_token"] == .string("t2"))
    }

    @Test(arguments: ["00000000-0000-0000-0000-000000000000", "not-a-uuid"])
    func `a PUT with an unknown UUID registers a new device`(path: String) async throws {
        let server = try await TestServer()
        let reply = try await server.send(
            .put, "/v1/registration/\(path)", as: .iPhone,
            #"{"registration_token":"\#(Self.token)","custom_user_id":"","tags":{"subscribe":["a"]}}"#)
        #expect(reply.status == 200)
        let uuid = try #require(reply["device_uuid"]?.stringValue)
        #expect(try await server.send(.get, "/v1/registration/\(uuid)", as: .iPhone).status == 200)
    }

    @Test func `PUT with another platform's uuid deactivates that device, once`() async throws {
        let server = try await TestServer()
        let android = try await server.device("t", on: .android)
        let reply = try await server.send(
            .put, "/v1/registration/\(android)", as: .iPhone, #"{"registration_token":"\#(Self.token)"}"#)
        #expect(reply.status == 200)
        #expect(reply["device_uuid"] != .string(android.uuidString.lowercased()))
        let untouched = try await server.send(.get, "/v1/registration/\(android)", as: .android)
        #expect(untouched["registration_token"] == .string("t") && untouched["active"] == .bool(false))
    }

    @Test func `DELETE deactivates, repeats safely, and a PUT reactivates`() async throws {
        let server = try await TestServer()
        let uuid = try await server.device("t", on: .android)
        for _ in 1...2 {
            let reply = try await server.send(.delete, "/v1/registration/\(uuid)", as: .android)
            #expect(reply.status == 204)
            #expect(reply.text.isEmpty)
        }
        #expect(try await server.send(.get, "/v1/registration/\(uuid)", as: .android)["active"] == .bool(false))
        let back = try await server.send(
            .put, "/v1/registration/\(uuid)", as: .android, #"{"registration_token":"t"}"#)
        #expect(back["active"] == .bool(true))
        #expect(back["device_uuid"] == .string(uuid.uuidString.lowercased()))
    }

    @Test(arguments: ["00000000-0000-0000-0000-000000000000", "not-a-uuid"])
    func `an unknown UUID is 204 to DELETE, 404 to GET`(path: String) async throws {
        let server = try await TestServer()
        #expect(try await server.send(.delete, "/v1/registration/\(path)", as: .iPhone).status == 204)
        #expect(try await server.send(.get, "/v1/registration/\(path)", as: .iPhone).status == 404)
    }

    @Test func `another platform's device is unknown`() async throws {
        let server = try await TestServer()
        let uuid = try await server.device("t", on: .android)
        #expect(try await server.send(.get, "/v1/registration/\(uuid)", as: .iPhone).status == 404)
        #expect(try await server.send(.delete, "/v1/registration/\(uuid)", as: .iPhone).status == 204)
        #expect(try await server.send(.get, "/v1/registration/\(uuid)", as: .android)["active"] == .bool(true))
    }

    @Test(arguments: ["/v1/registration/count", "/v1/registration/count/"])
    func `the count is a bare integer, dead devices counted`(path: String) async throws {
        let server = try await TestServer()
        let uuid = try await server.device("t1", on: .android)
        _ = try await server.device("t2", on: .android)
        _ = try await server.send(.delete, "/v1/registration/\(uuid)", as: .android)
        let reply = try await server.send(.get, path, as: .android)
        #expect(reply.status == 200)
        #expect(reply.text == "2")
    }

    @Test func `escaped text comes back as sent`() async throws {
        let alias = #""quote\" slash\\ tab\t nul-free \u0001 ünï 🎉 \ud83c\udf89""#
        let reply = try await TestServer().register(
            #"{"registration_token":"t","device_alias":\#(alias)}"#, on: .android)
        #expect(reply["device_alias"] == .string("quote\" slash\\ tab\t nul-free \u{1} ünï 🎉 🎉"))
    }

    @Test(arguments: [
        (#"{"os":"ios"}"#, "registration_token is missing"),
        (#"{"registration_token":null}"#, "registration_token is missing"),
        (#"{"registration_token":""}"#, "registration_token is empty"),
        (#"{"registration_token":5}"#, "registration_token has to be a string, it is a number"),
        (#"{"registration_token":"xyz"}"#, "registration_token is not an APNs token"),
        (#"{"registration_token":"abc"}"#, "registration_token is not an APNs token"),
        (#"{"registration_token":"\#(String(repeating: "ab", count: 101))"}"#, "registration_token is 101 bytes"),
        (#"{"registration_token":"ab","device_alias":["x"]}"#, "device_alias has to be a string, it is an array"),
        (#"{"registration_token":"ab","os_version":{}}"#, "os_version has to be a string, it is an object"),
        (#"{"registration_token":"ab","device_model":true}"#, "device_model has to be a string, it is a boolean"),
        (#"{"registration_token":"ab","device_manufacturer":1.5}"#, "device_manufacturer has to be a string"),
        (#"{"registration_token":"ab","custom_user_id":7}"#, "custom_user_id has to be a string, it is a number"),
        (
            #"{"registration_token":"ab","os":"\#(String(repeating: "o", count: 1_025))"}"#,
            "os is 1025 bytes, the limit is 1024"
        ),
        (#"{"registration_token":"ab","tags":"a"}"#, "tags has to be an array of strings, it is a string"),
        (#"{"registration_token":"ab","tags":["a",1]}"#, "tags[1] has to be a string, it is a number"),
        (#"{"registration_token":"ab","tags":["a",null]}"#, "tags[1] has to be a string, it is null"),
        (#"{"registration_token":"ab","tags":["a",""]}"#, "tags[1] is an empty topic name"),
        (
            #"{"registration_token":"ab","tags":["\#(String(repeating: "t", count: 256))"]}"#,
            "tags[0] is 256 bytes, the limit is 255"
        ),
        (
            #"{"registration_token":"ab","tags":{"subscribe":["a"]}}"#,
            "tags has to be an array of strings, it is an object"
        ),
        ("", "body is empty"), ("  \n", "body is empty"),
        ("[]", "body has to be an object, it is an array"),
        ("null", "body has to be an object, it is null"),
        ("{", "body is not valid JSON: expected a key in quotes at byte 1"),
        (#"{"os" "ios"}"#, "body is not valid JSON: expected ':' behind a key at byte 6"),
        (#"{"os":}"#, "body is not valid JSON: expected a value at byte 6"),
        (#"{"os":"ios",}"#, "body is not valid JSON: expected a key in quotes at byte 12"),
        (#"{"os":"ios"} x"#, "body is not valid JSON: expected the end at byte 13"),
        (#"{"os":"ios"#, "body is not valid JSON: the text ends inside a string at byte 10"),
    ])
    func `an invalid POST is a 400 that names its field`(body: String, message: String) async throws {
        let reply = try await TestServer().register(body)
        #expect(reply.status == 400)
        #expect(reply.message?.hasPrefix(message) == true, "\(reply)")
    }

    @Test(arguments: [
        (#"{"tags":{"subscribe":["a"]}}"#, "registration_token is missing"),
        (#"{"registration_token":"ab","tags":{"subscribe":"a"}}"#, "tags.subscribe has to be an array of strings"),
        (#"{"registration_token":"ab","tags":{"unsubscribe":["a",{}]}}"#, "tags.unsubscribe[1] has to be a string"),
        (#"{"registration_token":"ab","tags":{"subscribe":[""]}}"#, "tags.subscribe[0] is an empty topic name"),
        (#"{"registration_token":"ab","tags":7}"#, "tags has to be an array of strings, it is a number"),
    ])
    func `an invalid PUT is a 400 that names its field`(body: String, message: String) async throws {
        let reply = try await TestServer().send(.put, "/v1/registration/\(UUID())", as: .iPhone, body)
        #expect(reply.status == 400)
        #expect(reply.message?.hasPrefix(message) == true, "\(reply)")
    }

    @Test func `a device takes 1,024 topics and no more`() async throws {
        let server = try await TestServer()
        func body(_ count: Int) -> String {
            let tags = (1...count).map { "\"t\($0)\"" }.joined(separator: ",")
            return #"{"registration_token":"ab","tags":[\#(tags)]}"#
        }
        #expect(try await server.register(body(1_024)).status == 200)
        #expect(try await server.register(body(1_025)).message == "tags has 1025 topics, the limit is 1024")
    }

    private func topics(of uuid: UUID, on server: TestServer) async throws -> [String] {
        let reply = try await server.send(.get, "/v1/registration/\(uuid)", as: .android)
        guard case .array(let tags) = reply["tags"] else { return ["no tags: \(reply)"] }
        return tags.compactMap { $0["text"]?.stringValue }
    }
}
