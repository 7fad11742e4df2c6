import BelfryTesting
import Foundation
import HTTPTypes
import Testing

@testable import BelfryService

/// Custom data reach every device, and everybody who asks for the push, as they were written. Python's `json` is the judge.
@Suite struct CustomDataTests {
    @Test(arguments: 1...6 as ClosedRange<UInt64>)
    func `custom data arrive as they were written`(seed: UInt64) async throws {
        var random = SplitMix64(seed: seed)
        let server = try await TestServer()
        let admin = try await TestAdminServer()
        let app = "apps/\(try await admin.resources("shop").application.uuid.lowercased)"
        var questions: [JSONValue] = []
        for _ in 0..<12 {
            let value = DrawnJSON.value(by: &random, depth: 3)
            // Push Kit takes 4,096 bytes, with the quotes of JSON within JSON within JSON.
            guard value.utf8.count < 1_000 else { continue }
            let message = #"{"body":"Hi","custom":\#(Self.custom(value))}"#
            try await questions.append(contentsOf: Self.throughPCF(message, value, server))
            try await questions.append(contentsOf: Self.throughAdmin(message, value, admin, app))
            questions.append(contentsOf: try await Self.geofence(value, admin, app))
        }
        for answer in try JSONOracle.answers(to: questions) {
            #expect(answer["same"] == .bool(true), "\(String(decoding: answer.encoded, as: UTF8.self))")
        }
    }

    private static func custom(_ value: String) -> String {
        #"{"ios":{"extra":{"v": \#(value)}}, "android":{"v":{"w":\#(value)}}, "web":{"v":\#(value)},"own":{"v":\#(value)}}"#
    }

    private static func question(
        _ value: String, _ got: [UInt8], _ path: [String], isText: Bool = false
    ) -> JSONValue {
        .object([
            "sent": .string(value), "got": .string(String(decoding: got, as: UTF8.self)), "path": .strings(path),
            "text": .bool(isText),
        ])
    }

    private static func throughPCF(
        _ message: String, _ value: String, _ server: TestServer
    ) async throws -> [JSONValue] {
        let body = #""message":\#(message),"target":{"platform":"all"}"#
        #expect(try await server.push("{\(body)}").status == 200, "\(message)")
        let content = try #require(try await server.store.allPushes().last?.content)
        let stored = try Push.Content(stored: Array(content.storedText.utf8))
        let ios = try IOSPayload(stored, receiptID: UUID(), sentAt: .zero)
        let android = try AndroidPayload(stored, kind: .androidFCM, receiptID: nil, sentAt: .zero)
        let huawei = try AndroidPayload(stored, kind: .huawei, receiptID: nil, sentAt: .zero)
        let web = try WebPayload(stored, receiptID: UUID())
        let later = try await server.push(#"{\#(body),"scheduleIn":7200}"#)
        let id = try #require(later["schedule_id"]?.stringValue)
        let schedule = try await server.send(.get, "/v1/schedules/\(id)", as: .sender)
        let template = try #require(
            try ContentTemplate(
                Push.Content(body: "{{badge}}", custom: stored.custom, isTemplate: true)))
        let personal = PayloadTemplate(
            try IOSPayload(template.content, receiptID: nil, sentAt: .zero).bytes, template
        ).payload(for: PersonalizedValues(PersonalizedValues.Values(badge: 7)), bytesMax: .max)
        return [
            question(value, ios.bytes, ["v"]), question(value, web.bytes, ["v"]),
            question(value, JSONValue.object(android.data).encoded, ["v"], isText: true).under("w"),
            question(value, JSONValue.object(huawei.data).encoded, ["v"], isText: true).under("w"),
            question(value, Array(schedule.text.utf8), ["push", "message", "custom", "own", "v"]),
            question(value, try #require(personal), ["v"]),
        ]
    }

    private static func throughAdmin(
        _ message: String, _ value: String, _ server: TestAdminServer, _ app: String
    ) async throws -> [JSONValue] {
        let sent = try await server.send(
            .post, "\(app)/pushes", #"{"message":\#(message),"target":{"everyone":true}}"#)
        let id = try #require(sent["receipt_id"]?.stringValue, "\(sent)")
        let shown = try await server.send(.get, "pushes/\(id)")
        return [question(value, Array(shown.text.utf8), ["message", "custom", "ios", "extra", "v"])]
    }

    private static func geofence(
        _ value: String, _ server: TestAdminServer, _ app: String
    ) async throws -> [JSONValue] {
        let place = try await server.send(
            .post, "\(app)/locations", #"{"name":"Bakery","latitude":1,"longitude":2,"radius":100}"#)
        guard case .integer(let location)? = place["location_id"] else { throw InvalidInput(field: "location", "none") }
        let made = try await server.send(
            .post, "\(app)/geofences",
            #"{"location_ids":[\#(location)],"trigger":"enter","expires_at":"2090-01-31T08:30:00Z","data":{"own":{"v":\#(value)}}}"#
        )
        #expect(made.status == 201, "\(made)")
        return [question(value, Array(made.text.utf8), ["data", "own", "v"])]
    }

    @Test(arguments: [
        (#""a\u0000b""#, "U+0000"), (#""\ud83c""#, "half of a surrogate pair"),
        ("1e400", "message.custom.own is a number beyond 1.8e308"),
        ("1" + String(repeating: "0", count: 200), "is a number of 201 digits, the limit is 128"),
    ])
    func `a text that would be altered is refused with words`(value: String, words: String) async throws {
        let reply = try await TestServer().push(
            #"{"message":{"body":"Hi","custom":{"own":\#(value)}},"target":{"platform":"all"}}"#)
        #expect(reply.status == 400 && reply.text.contains(words), "\(reply.text)")
    }

    @Test func `two keys that look the same reach Android as two`() throws {
        let value = try JSONValue(json: #"{"e\u0301":1,"\u00e9":2}"#.utf8)
        let content = Push.Content(body: nil, custom: ["android": value])
        let data = try AndroidPayload(content, kind: .androidFCM, receiptID: nil, sentAt: .zero).data
        #expect(data.texts.map { Array($0.key.utf8) } == [[0x65, 0xCC, 0x81], [0xC3, 0xA9]])
        #expect(data.texts.map(\.text) == ["1", "2"])
    }

    @Test func `FCM's texts are those of the source`() throws {
        let android = #"{"a":12.50,"b":1.0,"c":1e2,"d":{"z":[1.10, 2],"a":-0},"e":18446744073709551616,"f":true}"#
        let content = Push.Content(body: nil, custom: ["android": try JSONValue(json: android.utf8)])
        let payload = try AndroidPayload(content, kind: .androidFCM, receiptID: nil, sentAt: .zero)
        #expect(
            payload.dataByKey == [
                "a": "12.50", "b": "1.0", "c": "1e2", "d": #"{"z":[1.10,2],"a":-0}"#, "e": "18446744073709551616",
                "f": "true",
            ])
    }
}

extension JSONValue {
    /// The question of what is a member of the value that a text holds.
    fileprivate func under(_ key: String) -> JSONValue {
        guard case .object(var members) = self, let sent = members["sent"]?.stringValue else { return self }
        members["sent"] = .string(#"{"\#(key)":\#(sent)}"#)
        return .object(members)
    }
}

/// JSON as people and programs write it, with all that a reader may lose.
private enum DrawnJSON {
    private static let numbers = [
        "0", "-0", "7", "-17", "9223372036854775807", "9223372036854775808", "-9223372036854775809",
        "123456789012345678901234567890", "12.50", "1.0", "-1.50", "1e2", "1E+2", "1.5e-7", "0.10000000000000000000001",
        "3.14159265358979323846264338327950288", "100000000000000000000.000", "5e-324", "1e308",
    ]
    private static let strings = [
        #""""#, #""a""#, #""é""#, "\"e\u{301}\"", #""\u00e9""#, #""\/\n\t\"\\""#, #""\ud83c\udf89""#, #""🎉""#,
        #""12.50""#,
        "\"\u{212B}\"", "\"\u{C5}\"", #""\u2028""#,
    ]
    private static let keys = [
        #""a""#, #""b""#, #""z""#, #""é""#, "\"e\u{301}\"", #""\u00e9""#, "\"\u{212B}\"", "\"\u{C5}\"", #""""#, #""A""#,
        #""10""#, #""9""#,
    ]

    static func value(by random: inout SplitMix64, depth: Int) -> String {
        switch random.below(depth > 0 ? 9 : 5) {
        case 0: return "null"
        case 1: return random.chance(0.5) ? "true" : "false"
        case 2, 3: return random.pick(numbers)
        case 4: return random.pick(strings)
        case 5, 6:
            let elements = (0..<random.below(5)).map { _ in value(by: &random, depth: depth - 1) }
            return "[\(elements.joined(separator: random.chance(0.5) ? "," : " , "))]"
        default:
            let members = (0..<random.below(6)).map { _ in
                let key = random.pick(keys)
                return "\(key)\(random.chance(0.5) ? ":" : " : ")\(value(by: &random, depth: depth - 1))"
            }
            return "{\(members.joined(separator: ","))}"
        }
    }
}

/// `Scripts/json-oracle`.
private enum JSONOracle {
    static func answers(to questions: [JSONValue]) throws -> [JSONValue] {
        let script = URL(filePath: #filePath).appending(path: "../../../../Scripts/json-oracle").standardized.path
        let input = URL(filePath: NSTemporaryDirectory()).appending(path: "json-oracle-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: input) }
        let lines = questions.map { String(decoding: $0.encoded, as: UTF8.self) }.joined(separator: "\n")
        try Data(lines.utf8).write(to: input)
        let process = Process()
        process.executableURL = URL(filePath: script)
        process.standardInput = try FileHandle(forReadingFrom: input)
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let bytes = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        let answers = try bytes.split(separator: UInt8(ascii: "\n")).map { try JSONValue(json: $0) }
        guard process.terminationStatus == 0, answers.count == questions.count else {
            throw InvalidInput(field: "Scripts/json-oracle", "gave \(answers.count) answers")
        }
        return answers
    }
}
