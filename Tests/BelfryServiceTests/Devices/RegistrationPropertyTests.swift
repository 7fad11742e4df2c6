import BelfryTesting
import Foundation
import HTTPTypes
import Logging
import Testing

@testable import BelfryService

/// Any sequence of registrations ends with the devices that a small model says.
@Suite struct RegistrationPropertyTests {
    @Test(arguments: [41, 42, 43, 44] as [UInt64])
    func `in memory`(seed: UInt64) async throws { try await play(on: try await TestServer(), seed: seed, steps: 150) }

    @Test(arguments: [51, 52] as [UInt64])
    func `in SQLite`(seed: UInt64) async throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("belfry-api-\(UUID())")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let store = try SQLiteStore.open(
            at: directory.appendingPathComponent("belfry.sqlite").path, clock: ManualClock(),
            logger: Logger(label: "test"), migrate: true)
        try await play(on: try await TestServer(over: store), seed: seed, steps: 150)
        try await store.close()
    }

    private func play(on server: TestServer, seed: UInt64, steps: Int) async throws {
        var server = server
        server.options.verifiesCustomUserIDs = false
        var caller = Caller(server: server, dice: SplitMix64(seed: seed))
        for _ in 0..<steps { try await caller.step() }
        try await caller.compare()
    }
}

/// Sends requests drawn by lot, and does the same to a model of its own.
private struct Caller {
    let server: TestServer
    var dice: SplitMix64
    /// In the order they came.
    private var devices: [Entry] = []

    struct Entry {
        let uuid: String
        let isPhone: Bool
        var token: String?
        var isActive = true
        var tags: Set<String> = []
        var user: String?
        var alias: String?

        /// Takes what the request leaves out from the device of another platform that it names, unless this one has more than it says.
        mutating func inherit(from old: Entry, _ body: Body) {
            let (wanted, rest): (Set<String>, Set<String>) =
                switch body.tags {
                case .none: ([], old.tags)
                case .all(let tags): (Set(tags.map { $0.lowercased() }), [])
                case .change(let add, let remove):
                    (Set(add.map { $0.lowercased() }), old.tags.subtracting(remove.map { $0.lowercased() }))
                }
            let asked = body.user.flatMap { $0.isEmpty ? nil : $0 }
            guard tags == wanted, user == asked else { return }
            tags = wanted.union(rest)
            if body.user == nil { user = old.user }
            if body.alias == nil, old.alias != nil { alias = old.alias }
        }
    }

    init(server: TestServer, dice: SplitMix64) {
        self.server = server
        self.dice = dice
    }

    mutating func step() async throws {
        let isPhone = dice.chance(0.5)
        let user: TestServer.User = isPhone ? .iPhone : .android
        switch Int.random(in: 0..<10, using: &dice) {
        case 0..<4:
            let body = draw(isNew: true)
            let reply = try await server.send(.post, "/v1/registration", as: user, body.json(isPhone: isPhone))
            try note(body, as: nil, isPhone: isPhone, reply)
        case 4..<8:
            let body = draw(isNew: false)
            let uuid = drawUUID()
            let reply = try await server.send(.put, "/v1/registration/\(uuid)", as: user, body.json(isPhone: isPhone))
            try note(body, as: uuid, isPhone: isPhone, reply)
        default:
            let uuid = drawUUID()
            let reply = try await server.send(.delete, "/v1/registration/\(uuid)", as: user)
            #expect(reply.status == 204)
            if let index = devices.firstIndex(where: { $0.uuid == uuid && $0.isPhone == isPhone }) {
                devices[index].isActive = false
            }
        }
    }

    // MARK: Drawing

    struct Body {
        var token: Int
        var isUpperCase: Bool
        var tags: Tags
        var user: String?
        var alias: String?

        enum Tags {
            case none
            case all([String])
            case change(add: [String], remove: [String])
        }

        func json(isPhone: Bool) -> String {
            var members = [#""registration_token":"\#(text(isPhone: isPhone))""#]
            switch tags {
            case .none: break
            case .all(let tags): members.append(#""tags":\#(tags)"#)
            case .change(let add, let remove):
                members.append(#""tags":{"subscribe":\#(add),"unsubscribe":\#(remove)}"#)
            }
            if let user { members.append(#""custom_user_id":"\#(user)""#) }
            if let alias { members.append(#""device_alias":"\#(alias)""#) }
            return "{\(members.joined(separator: ","))}"
        }

        /// Hex for phones, in either case; text for others, whose case counts.
        private func text(isPhone: Bool) -> String {
            let text = isPhone ? "ab\(10 + token)" : "token-\(token)"
            return isUpperCase ? text.uppercased() : text
        }

        func kept(isPhone: Bool) -> String { isPhone ? text(isPhone: true).lowercased() : text(isPhone: false) }
    }

    private mutating func draw(isNew: Bool) -> Body {
        let words = ["a", "B", "c", "D"]
        func some(_ dice: inout SplitMix64) -> [String] { words.filter { _ in dice.chance(0.4) } }
        var tags = Body.Tags.none
        if dice.chance(0.8) {
            tags =
                isNew || dice.chance(0.2)
                ? .all(some(&dice)) : .change(add: some(&dice), remove: some(&dice))
        }
        return Body(
            token: Int.random(in: 0..<8, using: &dice), isUpperCase: dice.chance(0.3), tags: tags,
            user: dice.chance(0.6) ? ["", "kim", "Kim"].randomElement(using: &dice) : nil,
            alias: dice.chance(0.5) ? ["", "phone", "other"].randomElement(using: &dice) : nil)
    }

    private mutating func drawUUID() -> String {
        if dice.chance(0.2) { return "00000000-0000-8000-8000-00000000000\(Int.random(in: 0...9, using: &dice))" }
        return devices.randomElement(using: &dice)?.uuid ?? "nobody"
    }

    // MARK: The model

    private mutating func note(_ body: Body, as uuid: String?, isPhone: Bool, _ reply: TestAnswer) throws {
        #expect(reply.status == 200, "\(reply)")
        let answered = try #require(reply["device_uuid"]?.stringValue)
        let token = body.kept(isPhone: isPhone)
        let named = devices.firstIndex { $0.uuid == uuid && $0.isPhone == isPhone }
        let holder = devices.firstIndex { $0.token == token && $0.isPhone == isPhone }
        if let named, let holder, named != holder {
            devices[holder].token = nil
            devices[holder].isActive = false
        }
        let index = named ?? holder ?? devices.endIndex
        if index == devices.endIndex {
            #expect(!devices.contains { $0.uuid == answered })
            devices.append(Entry(uuid: answered, isPhone: isPhone))
        }
        #expect(devices[index].uuid == answered)
        devices[index].token = token
        devices[index].isActive = true
        let isPost = uuid == nil
        if body.user != nil || isPost { devices[index].user = body.user.flatMap { $0.isEmpty ? nil : $0 } }
        if body.alias != nil || isPost { devices[index].alias = body.alias.flatMap { $0.isEmpty ? nil : $0 } }
        switch body.tags {
        case .none: if uuid == nil { devices[index].tags = [] }
        case .all(let tags): devices[index].tags = Set(tags.map { $0.lowercased() })
        case .change(let add, let remove):
            devices[index].tags.subtract(remove.map { $0.lowercased() })
            devices[index].tags.formUnion(add.map { $0.lowercased() })
        }
        if named == nil, let old = devices.firstIndex(where: { $0.uuid == uuid && $0.isPhone != isPhone }) {
            devices[index].inherit(from: devices[old], body)
            devices[old].isActive = false
        }
    }

    // MARK: The comparison

    func compare() async throws {
        for entry in devices {
            let user: TestServer.User = entry.isPhone ? .iPhone : .android
            let reply = try await server.send(.get, "/v1/registration/\(entry.uuid)", as: user)
            expect(reply.json, is: entry)
        }
        let list = try await server.send(.get, "/v2/registrations?size=50", as: .sender)
        #expect(list["totalRegistrations"] == .integer(Int64(devices.count)))
        #expect(list["registrations"]?.elements.compactMap { $0["device_uuid"]?.stringValue } == devices.map(\.uuid))
        for tag in ["a", "b", "c", "d"] {
            let count = try await server.send(.get, "/v1/tags/count/\(tag)", as: .sender)
            #expect(count.text == String(devices.count { $0.isActive && $0.tags.contains(tag) }), "\(tag)")
        }
        let ids = try await server.send(.get, "/v2/custom_user_ids", as: .sender)
        let expected = Set(devices.filter(\.isActive).compactMap(\.user))
        #expect(Set(ids["custom_user_ids"]?.elements.compactMap(\.stringValue) ?? []) == expected)
    }

    private func expect(_ json: JSONValue, is entry: Entry) {
        #expect(json["registration_token"] == entry.token.map { .string($0) } ?? .null, "\(entry)")
        #expect(json["active"] == .bool(entry.isActive), "\(entry)")
        #expect(json["custom_user_id"] == entry.user.map { .string($0) } ?? .null, "\(entry)")
        #expect(json["device_alias"] == entry.alias.map { .string($0) } ?? .null, "\(entry)")
        #expect(json["tags"]?.elements.compactMap { $0["text"]?.stringValue } == entry.tags.sorted(), "\(entry)")
    }
}
