import BelfryTesting
import FoundationEssentials
import Testing

@testable import BelfryService

/// Requests of apps that have Carma's guide built in, byte by byte. Source: Carma iOS Integration Guide, Rev pA3.
@Suite struct CarmaDeviceTests {
    private static let apple = "51d97df57d8914fd5b5b04b9811ff019e2c4d6198007608ca6bd448f4c3192b6"

    /// The guide's minimal version, with straight quotation marks.
    private static let minimal =
        #"{"originalId": "abcabc123123","deviceInfo": [{"devicetoken": "abc123abc123kmlkmlkml"}]}"#

    /// The guide's full list, as it stands there, with straight quotation marks.
    private static let full = """
        {
        "listId": 1000000005,
        "country": null,
        "originalId": "abcabc123123",
        "firstName": "lars",
        "lastName": "hansson",
        "middleName": null,
        "emailAddress": "lars@compost.se",
        "title": null,
        "dateOfBirth": null,
        "city": null,
        "zipcode": null,
        "sex": null,
        "mobileNumber": null,
        "optOutDate": null,
        "dateOfInvalidation": null,
        "optOutMobileDate": null,
        "active": true,
        "properties": {
        "food": "meat",
        "drink": "tea"
        }
        ,
        "deviceInfo": [
        {
        "devicetoken": "abc123abc123kmlkmlkml",
        "manufacturer": "apple",
        "model": "iphone 6",
        "osVersion": "9.2",
        "country": "Sweden",
        "dateOfInvalidation": null,
        "invalidationType": 0
        }
        ]
        }
        """

    @Test func `the minimal registration is answered with the whole struct`() async throws {
        try await CarmaServer.with { server in
            let contact = try await server.contact("PUT", CarmaServer.devices, Self.minimal)
            #expect(contact["originalId"] == .string("abcabc123123") && contact["firstName"] == .null)
            #expect(contact["listId"] == .integer(1_000_000_001) && contact["active"] == .bool(true))
            #expect(fates(contact) == ["abc123abc123kmlkmlkml": 0])
            #expect(try await server.devices(.android).map(\.customUserID) == ["abcabc123123"])
        }
    }

    @Test func `the full registration comes back as it was sent`() async throws {
        try await CarmaServer.with { server in
            let contact = try await server.contact("PUT", CarmaServer.devices, Self.full)
            #expect(contact == (try JSONValue(json: Self.full.utf8)))
            let shown = try await server.contact("GET", CarmaServer.devices + "/abcabc123123")
            #expect(shown == contact)
        }
    }

    /// Spellings of one registration, with what the contact and the token are then.
    private static let spellings: [String] = [
        #"{"originalId":"o","deviceInfo":[{"deviceToken":"\#(apple)"}]}"#,
        #"{"appId":"se.compost.demo","originalId":"o","deviceInfo":{"deviceToken":"\#(apple)"}}"#,
        #"{"originalId":"o","deviceToken":"\#(apple.uppercased())"}"#,
        #"{"originalId":"o","devicetoken":"<51d97df5 7d8914fd 5b5b04b9 811ff019 e2c4d619 8007608c a6bd448f 4c3192b6>"}"#,
        #"{"originalId":"o","deviceInfo":[{"DEVICETOKEN":"\#(apple)","x":{"y":[1]}}],"unknown":[{}]}"#,
    ]

    @Test(arguments: spellings)
    func `every spelling in the guide registers the same token`(body: String) async throws {
        try await CarmaServer.with { server in
            let contact = try await server.contact("PUT", CarmaServer.devices, body)
            #expect(fates(contact) == [Self.apple: 0])
            #expect(try await server.devices(.ios).map(\.customUserID) == ["o"])
            #expect(try await server.devices(.ios).first?.token?.bytes.hex == Self.apple)
        }
    }

    @Test func `omission keeps, null clears, and zipCode equals zipcode`() async throws {
        try await CarmaServer.with { server in
            _ = try await server.contact("PUT", CarmaServer.devices, Self.full)
            let change =
                #"{"originalId":"abcabc123123","devicetoken":"second-token-of-android","firstName":null,"zipCode":"11122","optOutDate":1500000000000,"optOutMobileDate":"2017-07-14T02:40:00Z","properties":{"drink":null,"age":7},"listId":null,"active":false}"#
            let contact = try await server.contact("PUT", CarmaServer.devices, change)
            #expect(contact["firstName"] == .null && contact["lastName"] == .string("hansson"))
            #expect(contact["zipcode"] == .string("11122"))
            #expect(contact["listId"] == .integer(1_000_000_001) && contact["active"] == .bool(false))
            #expect(contact["optOutDate"] == .integer(1_500_000_000_000))
            #expect(contact["optOutMobileDate"] == .integer(1_500_000_000_000))
            #expect(contact["properties"] == .object(["food": .string("meat"), "age": .string("7")]))
            #expect(fates(contact) == ["abc123abc123kmlkmlkml": 0, "second-token-of-android": 0])
            let again = try await server.contact(
                "PUT", CarmaServer.devices,
                #"{"originalId":"abcabc123123","devicetoken":"second-token-of-android","active":null}"#)
            #expect(again["active"] == .bool(true))
        }
    }

    @Test func `a token that another contact registers is that one's`() async throws {
        try await CarmaServer.with { server in
            _ = try await server.contact("PUT", CarmaServer.devices, Self.minimal)
            let other = Self.minimal.replacing("abcabc123123", with: "other")
            _ = try await server.contact("PUT", CarmaServer.devices, other)
            #expect(fates(try await server.contact("GET", CarmaServer.devices + "/abcabc123123")) == [:])
            #expect(try await server.devices(.android).map(\.customUserID) == ["other"])
        }
    }

    @Test func `an invalidated token keeps its first time of invalidation`() async throws {
        try await CarmaServer.with { server in
            _ = try await server.contact("PUT", CarmaServer.devices, Self.full)
            let body =
                #"{"deviceInfo":[{"devicetoken": "abc123abc123kmlkmlkml"}],"originalId":"abcabc123123"}"#
            let contact = try await server.contact("PUT", CarmaServer.devices + "/invalidation", body)
            #expect(fates(contact) == ["abc123abc123kmlkmlkml": 1])
            guard case .array(let devices)? = contact["deviceInfo"] else { throw StoreError.unknown("devices") }
            #expect(devices[0]["dateOfInvalidation"] == .integer(CarmaServer.now.milliseconds))
            #expect(try await server.devices(.android).map(\.isActive) == [false])
            server.clock.advance(by: .seconds(60))
            #expect(try await server.contact("PUT", CarmaServer.devices + "/invalidation", body) == contact)
            let unknown = #"{"deviceInfo":[{"devicetoken":"x"}],"originalId":"nobody"}"#
            #expect(fates(try await server.contact("PUT", CarmaServer.devices + "/invalidation", unknown)) == [:])
            // The app may register it again.
            #expect(fates(try await server.contact("PUT", CarmaServer.devices, Self.minimal)).values.first == 0)
        }
    }

    @Test func `a contact that is written back revives no removed token`() async throws {
        try await CarmaServer.with { server in
            _ = try await server.contact("PUT", CarmaServer.devices, Self.minimal)
            let removal = Self.minimal.replacing("}]", with: #","dateOfInvalidation":1500000000000}]"#)
            let removed = try await server.contact("PUT", CarmaServer.devices + "/invalidation", removal)
            for (method, path) in [("PUT", CarmaServer.devices), ("POST", "/rest/42/lists/1000000001/contacts")] {
                let back = try await server.contact(method, path, String(decoding: removed.encoded, as: UTF8.self))
                #expect(fates(back) == ["abc123abc123kmlkmlkml": 1], "\(path)")
            }
            #expect(try await server.devices(.android).map(\.isActive) == [false])
        }
    }

    @Test func `a token that its provider rejects is told as such`() async throws {
        try await CarmaServer.with { server in
            _ = try await server.contact("PUT", CarmaServer.devices, Self.minimal)
            let device = try #require(try await server.devices(.android).first)
            try await server.store.unregister(device.uuid, on: device.platformKey)
            let contact = try await server.contact("GET", CarmaServer.devices + "/abcabc123123")
            #expect(fates(contact) == ["abc123abc123kmlkmlkml": 2])
        }
    }

    @Test func `a token that came back can be invalidated`() async throws {
        try await CarmaServer.with { server in
            _ = try await server.contact("PUT", CarmaServer.devices, Self.minimal)
            let device = try #require(try await server.devices(.android).first)
            try await server.store.unregister(device.uuid, on: device.platformKey)
            _ = try await server.contact("GET", CarmaServer.devices + "/abcabc123123")
            _ = try await server.store.register(
                try Registration(
                    token: try #require(device.token), about: device.about, customUserID: .set("abcabc123123"),
                    topics: .keep), as: device.uuid, on: try #require(server.platforms[.android]))
            let contact = try await server.contact("PUT", CarmaServer.devices + "/invalidation", Self.minimal)
            #expect(fates(contact) == ["abc123abc123kmlkmlkml": 1])
            #expect(try await server.devices(.android).map(\.isActive) == [false])
        }
    }

    @Test func `a contact's token is removed however it got there`() async throws {
        try await CarmaServer.with { server in
            _ = try await server.contact("PUT", CarmaServer.devices, Self.minimal)
            let device = try #require(try await server.devices(.android).first)
            _ = try await server.store.register(
                try Registration(
                    token: try #require(device.token), about: device.about, customUserID: .set("other"), topics: .keep),
                as: device.uuid, on: try #require(server.platforms[.android]))
            let old = try await server.contact("GET", CarmaServer.devices + "/abcabc123123")
            #expect(fates(old) == ["abc123abc123kmlkmlkml": 3])
            let path = CarmaServer.devices + "/invalidation"
            _ = try await server.contact("PUT", path, Self.minimal)
            #expect(try await server.devices(.android).map(\.isActive) == [true])
            let body = Self.minimal.replacing("abcabc123123", with: "other")
            #expect(fates(try await server.contact("PUT", path, body)).isEmpty)
            #expect(try await server.devices(.android).map(\.isActive) == [false])
        }
    }

    @Test func `a merge takes the tokens of a contact along`() async throws {
        try await CarmaServer.with { server in
            _ = try await server.contact("PUT", CarmaServer.devices, Self.minimal)
            _ = try await UserService(store: server.store).merge(
                "abcabc123123", into: "new", of: server.application, by: .local(systemUser: "test"))
            let merged = try await server.contact("GET", CarmaServer.devices + "/new")
            #expect(fates(merged) == ["abc123abc123kmlkmlkml": 0])
            #expect(try await server.send("GET", CarmaServer.devices + "/abcabc123123").status == 404)
            let body = Self.minimal.replacing("abcabc123123", with: "new")
            let removed = try await server.contact("PUT", CarmaServer.devices + "/invalidation", body)
            #expect(fates(removed) == ["abc123abc123kmlkmlkml": 1])
        }
    }

    @Test(arguments: [
        ("lars%40compost.se", "lars@compost.se"), ("lars+x@compost.se", "lars+x@compost.se"), ("a+b", "a b"),
        ("a%20b", "a b"), ("invalidation", "invalidation"), ("a%2Fb", "a/b"),
    ])
    func `a contact is found however its id is escaped`(part: String, id: String) async throws {
        try await CarmaServer.with { server in
            _ = try await server.contact(
                "PUT", CarmaServer.devices, #"{"originalId":"\#(id)","devicetoken":"some-token"}"#)
            let contact = try await server.contact("GET", "\(CarmaServer.devices)/\(part)")
            #expect(contact["originalId"] == .string(id))
            #expect(contact == (try await server.contact("GET", "/rest/42/apps/se.compost.demo/devices/\(part)")))
        }
    }

    @Test func `a user that is erased leaves no contact behind`() async throws {
        try await CarmaServer.with { server in
            _ = try await server.contact("PUT", CarmaServer.devices, Self.full)
            try await server.store.note(
                AcrobitsRegistration(
                    applicationKey: server.application.key, appID: "a", selector: "S", token: "T",
                    platformKey: try #require(server.platforms[.android]).key,
                    device: try #require(try await server.devices(.android).first).uuid, account: "abcabc123123"))
            try await UserService(store: server.store).erase(
                "abcabc123123", of: server.application, by: .local(systemUser: "test"))
            let answer = try await server.send("GET", CarmaServer.devices + "/abcabc123123")
            #expect(answer.status == 404)
            #expect(try await server.store.number("SELECT count(*) FROM acrobits_registration") == 0)
            #expect(try await server.store.number("SELECT count(*) FROM carma_device") == 0)
        }
    }

    // MARK: Refusals

    @Test(arguments: [
        ("{", 400), ("[]", 400), (#"{"deviceInfo":[{"devicetoken":"x"}]}"#, 400), (#"{"originalId":"o"}"#, 400),
        (#"{"originalId":"o","deviceInfo":[]}"#, 400), (#"{"originalId":"o","deviceInfo":[{}]}"#, 400),
        (#"{"originalId":"","devicetoken":"x"}"#, 400), (#"{"originalId":"o","devicetoken":"größe"}"#, 400),
        (#"{"originalId":"o","devicetoken":"x","optOutDate":"soon"}"#, 400),
    ])
    func `an error is one text, and nothing is stored`(body: String, status: Int) async throws {
        try await CarmaServer.with { server in
            let answer = try await server.send("PUT", CarmaServer.devices, body)
            #expect(answer.status == status, "\(answer)")
            guard case .object(let members) = try JSONValue(json: answer.body.utf8) else {
                throw StoreError.unknown("object in \(answer)")
            }
            #expect(Array(members.keys) == ["error"] && members["error"]?.stringValue?.isEmpty == false)
            #expect(try await server.store.number("SELECT count(*) FROM device") == 0)
            #expect(try await server.store.number("SELECT count(*) FROM app_user") == 0)
        }
    }

    @Test(arguments: [
        (#"{"long":"\#(String(repeating: "x", count: 1_500))"}"#, "properties.long is 1500 bytes, the limit is 1024"),
        (#"{"\#(String(repeating: "n", count: 200))":"x"}"#, "properties has a name of 200 bytes, the limit is 55"),
        (
            "{\((0...64).map { #""p\#($0)":"x""# }.joined(separator: ","))}",
            "properties has 65 attributes, the limit is 64"
        ),
    ])
    func `a refusal has the caller's names and limits`(properties: String, words: String) async throws {
        try await CarmaServer.with { server in
            let body = #"{"originalId":"o","devicetoken":"some-token","properties":\#(properties)}"#
            let answer = try await server.send("PUT", CarmaServer.devices, body)
            #expect(answer.status == 400 && answer.body.contains(words), "\(answer)")
        }
    }

    @Test(arguments: [
        ("devicetoken", "größe"), ("manufacturer", String(repeating: "x", count: 1_500)),
        ("model", String(repeating: "x", count: 1_500)), ("osVersion", String(repeating: "x", count: 1_500)),
    ])
    func `a refused field of a device has the guide's name`(field: String, value: String) async throws {
        try await CarmaServer.with { server in
            let body = #"{"originalId":"o","deviceInfo":{"devicetoken":"some-token","\#(field)":"\#(value)"}}"#
            let answer = try await server.send("PUT", CarmaServer.devices, body)
            #expect(answer.status == 400 && answer.body.hasPrefix(#"{"error":"\#(field) "#), "\(answer)")
        }
    }

    @Test func `Basic and token credentials open their own customer only`() async throws {
        try await CarmaServer.with { server in
            let path = CarmaServer.devices + "/nobody"
            let other = path.replacing("/rest/42/", with: "/rest/43/")
            let wrong = Data("\(CarmaServer.user):wrong".utf8).base64EncodedString()
            let tries: [(credentials: String, path: String, status: Int)] = [
                (CarmaServer.basic, path, 404), ("X-Carma-Authentication-Token: \(CarmaServer.token)\r\n", path, 404),
                ("", path, 401), ("X-Carma-Authentication-Token: wrong\r\n", path, 401),
                ("Authorization: Basic \(wrong)\r\n", path, 401), (CarmaServer.basic, other, 403),
                (CarmaServer.basic, path.replacing("se.compost", with: "se.other"), 404),
            ]
            for (credentials, path, status) in tries {
                let answer = try await server.send("GET", path, credentials: credentials)
                let error = try JSONValue(json: answer.body.utf8)["error"]
                #expect(answer.status == status && error != nil, "\(answer)")
            }
        }
    }

    @Test func `a guesser waits before passwords are checked, whatever came before`() async throws {
        try await CarmaServer.with { server in
            let path = CarmaServer.devices + "/nobody"
            #expect(try await server.send("GET", path).status == 404)
            let wrong = Data("\(CarmaServer.user):wrong".utf8).base64EncodedString()
            var statuses: [Int] = []
            for _ in 0..<7 {
                let credentials = "Authorization: Basic \(wrong)\r\n"
                statuses.append(try await server.send("GET", path, credentials: credentials).status)
            }
            #expect(statuses == [401, 401, 401, 401, 401, 401, 429])
            #expect(try await server.send("GET", path).status == 404)
        }
    }

    @Test func `a body over its limit is refused`() async throws {
        try await CarmaServer.with { server in
            let body = #"{"originalId":""# + String(repeating: "a", count: Carma.bodyBytesMax)
            let answer = try await server.send("PUT", CarmaServer.devices, body)
            #expect(answer.status == 413)
        }
    }
}
