import BelfryTesting
import FoundationEssentials
import HTTPTypes
import NIOCore
import Testing

@testable import BelfryService

/// `/v2/registrations` and `/v2/custom_user_ids`, as back ends and the dashboard of the original ask.
@Suite struct DirectoryTests {
    private func list(_ server: TestServer, _ query: String) async throws -> TestAnswer {
        try await server.send(.get, "/v2/registrations\(query)", as: .sender)
    }

    private func tokens(_ reply: TestAnswer) -> [String] {
        reply["registrations"]?.elements.compactMap { $0["registration_token"]?.stringValue } ?? []
    }

    private func furnished() async throws -> TestServer {
        let server = try await TestServer()
        for number in 0..<5 {
            _ = try await server.device("0\(number)", #","device_alias":"iPhone \#(number)","tags":["News"]"#)
        }
        for number in 0..<3 {
            _ = try await server.device("fcm-\(number)", on: .android, #","custom_user_id":"","tags":["sport"]"#)
        }
        return server
    }

    @Test func `a page holds its devices, and totals over all pages`() async throws {
        let server = try await furnished()
        let page = try await list(server, "?size=3&page=2")
        #expect(page.status == 200)
        #expect(tokens(page) == ["03", "04", "fcm-0"])
        #expect(page["totalRegistrations"] == .integer(8) && page["totalPages"] == .integer(3))
        #expect(page["page"] == .integer(2) && page["size"] == .integer(3))
        let item = try #require(page["registrations"]?.elements.first)
        for key in ["os", "os_version", "device_model", "device_manufacturer", "device_alias", "device_uuid"] {
            #expect(item[key] != nil, "\(key)")
        }
        #expect(item["active"] == .bool(true) && item["os"] == .string("ios"))
    }

    @Test(arguments: [
        ("", 20, 1, 8), ("?size=0", 0, 1, 0), ("?size=51", 50, 1, 8), ("?size=5&page=2", 5, 2, 3),
        ("?page=9", 20, 9, 0), ("?size=50&page=9223372036854775807", 50, .max, 0), ("?size=&page=", 20, 1, 8),
    ])
    func `sizes and pages have defaults and ends`(query: String, size: Int, page: Int, count: Int) async throws {
        let reply = try await list(try await furnished(), query)
        #expect(reply["size"] == .integer(Int64(size)) && reply["page"] == .integer(Int64(page)))
        #expect(reply["totalRegistrations"] == .integer(8))
        #expect(tokens(reply).count == count)
    }

    @Test func `an answer of a part says so`() async throws {
        let server = try await furnished()
        let whole = try await list(server, "?q=iphone&longer=true")
        #expect(whole["totalRegistrations"] == .integer(5) && whole["partial"] == nil)
        var json = JSONWriter()
        let part = ListPage<Int>([], total: 7, isPartial: true)
        let query = try PCF.PageQuery(QueryItems(""), sizeMin: 0)
        json.page("registrations", total: "totalRegistrations", part, query) { $0.integer("n", Int64($1)) }
        #expect(String(buffer: json.buffer).hasSuffix(#""partial":true}"#))
    }

    @Test(arguments: [
        ("?size=-1", "size"), ("?q=a&longer=yes", "longer"), ("?size=ten", "size"), ("?page=0", "page"),
        ("?platform=nokia", "platform"),
    ])
    func `an invalid query is a 400 that names it`(query: String, field: String) async throws {
        let reply = try await list(try await TestServer(), query)
        #expect(reply.status == 400)
        #expect(reply.message?.hasPrefix(field) == true, "\(reply)")
    }

    @Test(arguments: ["v2/registrations", "v2/custom_user_ids", "v2/topics", "v1/locations", "v1/location_groups"])
    func `a search for U+0000 is a 400 that names it`(path: String) async throws {
        let reply = try await (try await TestServer()).send(.get, "/\(path)?q=a%00", as: .sender)
        #expect(reply.status == 400)
        #expect(reply.text.contains("q has the character U+0000"), "\(reply)")
    }

    @Test func `the list is narrowed by kind, platform, topic and text`() async throws {
        let server = try await furnished()
        #expect(tokens(try await list(server, "?platform=android-fcm")) == ["fcm-0", "fcm-1", "fcm-2"])
        #expect(tokens(try await list(server, "?platform=all")).count == 8)
        #expect(tokens(try await list(server, "?platform=bb10")).isEmpty)
        #expect(tokens(try await list(server, "?platformUuid=\(server.ios.uuid)")).count == 5)
        #expect(tokens(try await list(server, "?platformUuid=\(UUID())")).isEmpty)
        #expect(tokens(try await list(server, "?platformUuid=mine")).isEmpty)
        #expect(tokens(try await list(server, "?topic=NEWS")).count == 5)
        #expect(tokens(try await list(server, "?q=IPHONE+3")) == ["03"])
        #expect(tokens(try await list(server, "?q=iphone%203&topic=news&platform=ios")) == ["03"])
        #expect(tokens(try await list(server, "?q=iphone%203&topic=sport")).isEmpty)
    }

    @Test func `only the application's own devices are listed`() async throws {
        let server = try await furnished()
        let other = try await server.store.create(
            NewPlatform.test(.ios, of: try await server.store.create(.test(server.vault, key: "another"))))
        _ = try await server.store.register(
            try Registration(token: DeviceToken("ab", for: .ios), about: .init(), customUserID: .keep, topics: .keep),
            as: nil, on: other)
        #expect(try await list(server, "")["totalRegistrations"] == .integer(8))
        #expect(tokens(try await list(server, "?platformUuid=\(other.uuid)")).isEmpty)
        #expect(try await server.send(.get, "/v2/registrations", as: .iPhone).status == 401)
        #expect(try await server.send(.get, "//v2/registrations/", as: .sender).status == 200)
    }

    private func ids(_ server: TestServer, _ path: String) async throws -> [String] {
        let reply = try await server.send(.get, path, as: .sender)
        #expect(reply.status == 200)
        return reply["custom_user_ids"]?.elements.compactMap(\.stringValue) ?? ["none: \(reply)"]
    }

    @Test func `custom user ids are listed, searched and cut`() async throws {
        var server = try await TestServer()
        server.options.verifiesCustomUserIDs = false
        for (number, id) in ["custom-user-id1", "custom-user-id2", "Custom", "custom-user-id1"].enumerated() {
            _ = try await server.device("t\(number)", on: .android, #","custom_user_id":"\#(id)""#)
        }
        let all = ["Custom", "custom-user-id1", "custom-user-id2"]
        for path in ["/v2/custom_user_ids", "/v1/custom_user_ids/"] {
            #expect(try await ids(server, path) == all)
            #expect(try await ids(server, path + "?q=id1") == ["custom-user-id1"])
            #expect(try await ids(server, path + "?q=ID1") == [])
            #expect(try await ids(server, path + "?size=1&page=2") == ["custom-user-id1"])
            #expect(try await ids(server, path + "?size=2&page=2") == ["custom-user-id2"])
            #expect(try await ids(server, path + "?page=3") == [])
        }
        #expect(try await server.send(.get, "/v2/custom_user_ids?size=0", as: .sender).status == 400)
    }

    @Test func `a list longer than a chunk is whole`() async throws {
        let server = try await TestServer()
        let expected = (0..<1_203).map { "user-\(10_000 + $0)" }
        for id in expected {
            _ = try await server.store.register(
                try Registration(
                    token: DeviceToken(id, for: .androidFCM), about: .init(), customUserID: .set(id),
                    topics: .replace([id, "all"])),
                as: nil, on: server.fcm)
        }
        #expect(try await ids(server, "/v2/custom_user_ids") == expected)
        let tags = try await server.send(.get, "/v1/tags", as: .sender)
        #expect(tags["tags"]?.elements.compactMap(\.stringValue) == ["all"] + expected)
        let devices = try await server.send(.get, "/v1/tags/all/ALL", as: .sender)
        #expect(devices.json.elements.compactMap { $0["custom_user_id"]?.stringValue } == expected)
    }
}

extension JSONValue {
    var elements: [JSONValue] { if case .array(let elements) = self { elements } else { [] } }
}
