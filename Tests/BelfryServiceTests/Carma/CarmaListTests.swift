import BelfryTesting
import FoundationEssentials
import Testing

@testable import BelfryService

/// Requests for lists from back ends of Carma's customers. Source: carmaclient (lists.go), compost-carma-api
/// (ContactsListEndpoint.php), a public Python client for Symplify, help.symplify.com ("API database import").
@Suite struct CarmaListTests {
    private static let list = "/rest/42/lists/1000000001"

    private static func json(
        _ server: CarmaServer, _ method: String, _ path: String, _ body: String? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> JSONValue {
        let answer = try await server.send(method, path, body)
        #expect(answer.status == 200, "\(answer)", sourceLocation: sourceLocation)
        return try JSONValue(json: answer.body.utf8)
    }

    /// Brings a list in as the Python client does, and returns its batch.
    private static func bring(
        _ server: CarmaServer, _ text: String, _ type: String = "ADD", identity: String = "originalId"
    ) async throws -> JSONValue {
        let made = try await json(
            server, "POST", list + "/imports",
            #"{"delimiter":"124","encoding":"UTF8","type":"\#(type)","identityColumn":"\#(identity)"}"#)
        let id = try #require(made["id"]?.stringValue)
        let sent = try await json(server, "POST", "\(list)/recipients/\(id)", text)
        guard case .integer(let batch)? = sent["batchId"] else { throw StoreError.unknown("batchId in \(sent)") }
        return try await json(server, "GET", "/rest/42/batches/\(batch)")
    }

    private static func user(_ id: String, _ server: CarmaServer) async throws -> [String: UserAttribute]? {
        try await server.store.user(id, of: server.application.key)?.profile.attributes
    }

    @Test func `each app has a list, and none is for tests`() async throws {
        try await CarmaServer.with { server in
            let own = JSONValue.object([
                "id": .integer(1_000_000_001), "listTypeId": .integer(1), "name": .string(CarmaServer.appID),
                "description": .null,
            ])
            for (query, found) in [("", [own]), ("?typeId=1", [own]), ("?typeId=2", [])] {
                let lists = try await Self.json(server, "GET", "/rest/42/lists\(query)")
                #expect(lists == .array(found), "\(query)")
            }
            let shown = try await Self.json(server, "GET", Self.list)
            #expect(shown == own)
            #expect(try await server.send("GET", "/rest/42/lists/7").status == 404)
        }
    }

    /// A contact as carmaclient writes it, with zeros for what it does not know.
    private static let written = """
        {"listId":1000000001,"originalId":"lars@b.se","firstName":"Lars","unsubscribed":false,"bounced":false,\
        "mobileUnsubscribed":false,"audioUnsubscribed":false,"optOutDate":0,"dateOfInvalidation":0,"optOutMobileDate":0,\
        "optOutAudioDate":0,"active":true,"properties":{"food":"fish"}}
        """

    @Test func `a contact exists without a device and shows later ones`() async throws {
        try await CarmaServer.with { server in
            let path = Self.list + "/contacts/lars%40b.se"
            #expect(try await server.send("GET", path).status == 404)
            #expect(try await server.send("PUT", path + "/update", Self.written).status == 404)
            let made = try await server.contact("PUT", path + "/update?force=true", Self.written)
            #expect(made["firstName"] == .string("Lars") && made["optOutDate"] == .null && fates(made) == [:])
            let changed = try await server.contact(
                "POST", Self.list + "/contacts", #"{"originalId":"lars@b.se","city":"Malmö"}"#)
            #expect(changed["city"] == .string("Malmö") && changed["firstName"] == .string("Lars"))
            _ = try await server.contact(
                "PUT", CarmaServer.devices, #"{"originalId":"lars@b.se","devicetoken":"some-token"}"#)
            let shown = try await server.contact("GET", path)
            #expect(fates(shown) == ["some-token": 0] && shown["properties"] == .object(["food": .string("fish")]))
            let other = try await server.send("POST", path, #"{"originalId":"kim"}"#)
            #expect(other.status == 400 && other.body.contains("originalId"), "\(other)")
            #expect(try await server.send("POST", Self.list + "/contacts", "{}").status == 400)
        }
    }

    @Test func `a blank escaped as plus names one contact everywhere`() async throws {
        try await CarmaServer.with { server in
            _ = try await server.contact(
                "PUT", CarmaServer.devices, #"{"originalId":"Kim Lee","devicetoken":"some-token"}"#)
            let path = Self.list + "/contacts/Kim+Lee"
            let changed = try await server.contact("PUT", path + "/update", #"{"originalId":"","city":"Lund"}"#)
            #expect(changed["originalId"] == .string("Kim Lee") && fates(changed) == ["some-token": 0])
            _ = try await Self.json(
                server, "POST", "/rest/42/triggers/\(server.trigger.key)/messages",
                #"{"originalId":"Kim Lee","properties":{"firstName":"Kim","food":"fish","drink":"tea"}}"#)
            guard case .array(let messages) = try await Self.json(server, "GET", path + "/messages") else {
                throw StoreError.unknown("array")
            }
            #expect(messages.count == 1)
            // The literal one comes first, where it is there.
            _ = try await server.contact("POST", Self.list + "/contacts", #"{"originalId":"Kim+Lee","city":"Kiruna"}"#)
            let literal = try await server.contact("PUT", path + "/update", #"{"city":"Ystad"}"#)
            #expect(literal["originalId"] == .string("Kim+Lee"))
        }
    }

    @Test func `a contact may have the name of a path`() async throws {
        try await CarmaServer.with { server in
            let path = Self.list + "/contacts/all"
            _ = try await server.contact("POST", path, #"{"city":"Lund"}"#)
            let changed = try await server.contact("PUT", path + "/update", #"{"firstName":"Kim"}"#)
            #expect(changed["originalId"] == .string("all") && changed["city"] == .string("Lund"))
            #expect(try await server.send("GET", path + "/messages").status == 200)
        }
    }

    @Test func `contacts are listed in pages and found by address`() async throws {
        try await CarmaServer.with { server in
            for number in 1...5 {
                _ = try await server.contact(
                    "POST", Self.list + "/contacts/c\(number)",
                    #"{"emailAddress":"\#(number % 2)@b.se","properties":{"n":"\#(number)"},"optOutDate":\#(number - 1)}"#
                )
                server.clock.advance(by: .seconds(1))
            }
            var (ids, last): ([String], Int64) = ([], -1)
            while true {
                let page = try await Self.json(
                    server, "GET", Self.list + "/contacts/all?pageSize=2&lastId=\(last)&channel=MIXED")
                guard case .array(let contacts) = page, !contacts.isEmpty else { break }
                #expect(contacts.count <= 2)
                ids += contacts.compactMap { $0["originalId"]?.stringValue }
                guard case .integer(let id)? = contacts.last?["id"] else { throw StoreError.unknown("id in \(page)") }
                last = id
            }
            #expect(ids == ["c1", "c2", "c3", "c4", "c5"])
            let found = try await Self.json(
                server, "GET", Self.list + "/contacts?email=1%40b.se&includeProperties=false")
            guard case .array(let odd) = found else { throw StoreError.unknown("array in \(found)") }
            #expect(odd.compactMap { $0["originalId"]?.stringValue } == ["c1", "c3", "c5"])
            #expect(odd.allSatisfy { $0["properties"] == nil && $0["deviceInfo"] == nil })
            #expect(odd.map { $0["unsubscribed"] } == [.bool(false), .bool(true), .bool(true)])
            let lost = try await server.send("GET", Self.list + "/contacts?lastId=999")
            #expect(lost.status == 400 && lost.body.contains("lastId"), "\(lost)")
        }
    }

    @Test func `a list adds and updates contacts; its batch says which`() async throws {
        try await CarmaServer.with { server in
            _ = try await server.contact(
                "PUT", CarmaServer.devices, #"{"originalId":"1","firstName":"Lars","city":"Lund","devicetoken":"tok"}"#)
            let batch = try await Self.bring(
                server, "originalId|city|food|devicetoken\n1|Malmö|fish|\n2||meat|second-token\n|Ystad||\n3|Kiruna||\n")
            #expect(batch["status"] == .string("FINISHED"))
            #expect(batch["taken"] == .integer(3) && batch["refused"] == .integer(1), "\(batch)")
            #expect(batch["message"]?.stringValue?.hasPrefix("line 4: originalId is missing") == true, "\(batch)")
            let (first, third) = (try await Self.user("1", server), try await Self.user("3", server))
            #expect(
                first == ["firstName": .text("Lars"), "city": .text("Malmö"), "property.food": .text("fish")])
            #expect(third == ["city": .text("Kiruna")])
            let second = try await server.contact("GET", CarmaServer.devices + "/2")
            #expect(fates(second) == ["second-token": 0])
            #expect(try await server.devices(.android).map(\.customUserID) == ["1", "2"])
        }
    }

    @Test func `a push is filled with what a list brought in`() async throws {
        try await CarmaServer.with { server in
            _ = try await Self.bring(server, "originalId|firstName|drink\no|Kim|tea\n")
            _ = try await server.contact("PUT", CarmaServer.devices, #"{"originalId":"o","devicetoken":"some-token"}"#)
            _ = try await server.send(
                "POST", "/rest/42/triggers/\(server.trigger.key)/messages",
                #"{"originalId":"o","properties":{"food":"fish"}}"#)
            let push = try #require(try await server.store.allPushes().first)
            #expect(push.content.custom["android"]?["alert"] == .string("Hi Kim"))
            #expect(push.content.custom["android"]?["message"] == .string("fish and tea"))
        }
    }

    @Test func `a replacing list deactivates others; an unsubscribing one opts out`() async throws {
        try await CarmaServer.with { server in
            _ = try await Self.bring(server, "originalId|city\n1|a\n2|b\n3|c\n")
            server.clock.advance(by: .seconds(1))
            _ = try await Self.bring(server, "originalId|city\n2|x\n4|d\n", "REPLACE")
            var active: [String: UserAttribute] = [:]
            for id in ["1", "2", "3", "4"] { active[id] = try await Self.user(id, server)?["active"] }
            #expect(active == ["1": .flag(false), "2": .flag(true), "3": .flag(false), "4": .flag(true)])
            let first = try await Self.user("1", server)
            #expect(first?["city"] == .text("a"))
            server.clock.advance(by: .seconds(1))
            let batch = try await Self.bring(server, "originalId\n2\n9\n", "UNSUBSCRIBE")
            #expect(batch["taken"] == .integer(1) && batch["message"] == .string("line 3: no such contact"))
            let (second, ninth) = (try await Self.user("2", server), try await Self.user("9", server))
            #expect(second?["optOutDate"] == .time(server.clock.now) && ninth == nil)
            // How the Python client clears a list.
            let cleared = try await Self.bring(server, "originalId", "REPLACE")
            #expect(cleared["status"] == .string("FINISHED"))
            server.clock.advance(by: .seconds(1))
            _ = try await Self.bring(server, "originalId", "REPLACE")
            let fourth = try await Self.user("4", server)
            #expect(fourth?["active"] == .flag(false))
        }
    }

    @Test func `a replacing list spares the contacts of refused lines`() async throws {
        try await CarmaServer.with { server in
            _ = try await Self.bring(server, "originalId|city\n1|a\n2|b\n3|c\n")
            func active() async throws -> [UserAttribute?] {
                var active: [UserAttribute?] = []
                for id in ["1", "2", "3"] { active.append(try await Self.user(id, server)?["active"]) }
                return active
            }
            server.clock.advance(by: .seconds(1))
            // A line without an id may be that of any contact.
            _ = try await Self.bring(server, "originalId|city\n1|a\n|b\n", "REPLACE")
            #expect(try await active() == [.flag(true), nil, nil])
            server.clock.advance(by: .seconds(1))
            let bad = "originalId|devicetoken\n2|größe\n"
            let failed = try await Self.bring(server, bad, "REPLACE")
            #expect(failed["status"] == .string("ERROR"))
            #expect(try await active() == [.flag(true), nil, nil])
            server.clock.advance(by: .seconds(1))
            _ = try await Self.bring(server, bad + "1\n", "REPLACE")
            #expect(try await active() == [.flag(true), nil, .flag(false)])
        }
    }

    @Test func `an empty list fails its batch and may be resent`() async throws {
        try await CarmaServer.with { server in
            let batch = try await Self.bring(server, "originalId;city\n1;a\n")
            #expect(batch["status"] == .string("ERROR") && batch["taken"] == .integer(0))
            let words = "has no column 'originalId', with delimiter 124 it has 'originalId;city'"
            #expect(batch["message"]?.stringValue?.contains(words) == true, "\(batch)")
        }
    }

    private static let wrong: [(String, String)] = [
        (#"{"type":"MERGE"}"#, "type is 'MERGE', it has to be ADD, REPLACE or UNSUBSCRIBE"),
        (#"{"delimiter":"34"}"#, "delimiter is '34'"), (#"{"delimiter":";"}"#, "such as 44 for a comma"),
        (#"{"encoding":"UTF16"}"#, "encoding is 'UTF16', it has to be UTF8 or ISO-8859-1"),
    ]

    @Test(arguments: wrong)
    func `an invalid import is refused with the valid choices`(body: String, words: String) async throws {
        try await CarmaServer.with { server in
            let answer = try await server.send("POST", Self.list + "/imports", body)
            #expect(answer.status == 400 && answer.body.contains(words), "\(answer)")
        }
    }

    @Test func `an import that asks for a rehearsal is refused`() async throws {
        try await CarmaServer.with { server in
            for (path, body) in [("/imports", #"{"dryRun":true}"#), ("/imports?dryRun=true", "{}")] {
                let answer = try await server.send("POST", Self.list + path, body)
                #expect(answer.status == 400 && answer.body.contains("dryRun"), "\(answer)")
            }
            #expect(try await server.send("POST", Self.list + "/imports", #"{"dryRun":false}"#).status == 200)
        }
    }

    @Test func `lists, imports and batches of another customer are not there`() async throws {
        try await CarmaServer.with { server in
            let other = try await server.store.createCarmaApp(
                customerID: 43, appID: CarmaServer.appID, for: server.application.key)
            let made = try await server.store.createCarmaImport(
                UUID(),
                CarmaImport.Settings(kind: .add, delimiter: 44, encoding: .utf8, identityColumn: "originalId"),
                of: other.key)
            for (method, path) in [
                ("GET", "/rest/42/lists/\(other.listID)"), ("GET", "/rest/42/lists/\(other.listID)/contacts"),
                ("POST", "/rest/42/lists/\(other.listID)/imports"), ("GET", "/rest/42/batches/\(made.key)"),
                ("POST", "/rest/42/lists/\(other.listID)/recipients/\(made.uuid)"),
                ("POST", "\(Self.list)/recipients/\(made.uuid)"), ("POST", "\(Self.list)/recipients/x"),
                ("GET", "/rest/42/batches/x"), ("GET", "/rest/42/batches/999"),
            ] {
                let answer = try await server.send(method, path, method == "POST" ? "originalId\n1\n" : nil)
                #expect(answer.status == 404, "\(path): \(answer)")
            }
            #expect(try await server.send("GET", "/rest/43/lists").status == 403)
        }
    }

    @Test func `a list that is too long is a 413`() async throws {
        try await CarmaServer.with { server in
            let made = try await Self.json(server, "POST", Self.list + "/imports", "{}")
            let id = try #require(made["id"]?.stringValue)
            let text = "originalId\n" + String(repeating: "1", count: Carma.listBytesMax)
            #expect(try await server.send("POST", "\(Self.list)/recipients/\(id)", text).status == 413)
            for end in ["\n", "\r", "\r\n"] {
                let rows = "originalId\(end)" + String(repeating: "1\(end)", count: Carma.listLinesMax)
                let refused = try await server.send("POST", "\(Self.list)/recipients/\(id)", rows)
                #expect(refused.status == 413 && refused.body.contains("has 100001 lines, the limit is 100000"))
                #expect(!refused.body.contains("parts"))
            }
        }
    }
}
