import BelfryService
import BelfrySimulators
import Testing

/// Data for the app, as each provider's own server gets them: with their digits, in their order, and with two keys that look the same.
@Suite struct CustomDataLoopbackTests {
    private static let id = "123456789012345678901234567890"
    private static let nested = #"{"y":-0,"x":[1E+2]}"#
    private static let (composed, decomposed) = ("\u{E9}", "e\u{301}")
    private static let json = object(id, "12.50", "1.0", nested)
    /// Where a value is a text.
    private static let texts = object(quoted(id), quoted("12.50"), quoted("1.0"), quoted(nested))

    private static func object(_ z: String, _ first: String, _ second: String, _ a: String) -> String {
        #""z":\#(z),"\#(composed)":\#(first),"\#(decomposed)":\#(second),"a":\#(a)"#
    }

    private static func quoted(_ text: String) -> String { JSONValue.string(text).storedText }

    private static func content() throws -> Push.Content {
        guard case .object(let data) = try JSONValue(json: "{\(json)}".utf8) else {
            throw InvalidInput(field: "data", "is none")
        }
        return Push.Content(body: "B", shared: SharedFields(data: data))
    }

    /// By their bytes: Swift compares texts canonically.
    private static func holds(_ text: String, _ part: String) -> Bool {
        Array(text.utf8).firstRange(of: Array(part.utf8)) != nil
    }

    @Test(arguments: [Posted.web, .wns, .mpns, .adm, .webhook, .gcm, .hms])
    func `data reach each provider as they were written`(service: Posted) async throws {
        let request = try #require(try await SharedFieldsLoopbackTests.posted(service, Self.content()))
        let part =
            switch service {
            case .adm, .gcm: Self.texts
            case .hms: String(Self.quoted(Self.texts).dropFirst().dropLast())
            case .wns: Self.json.replacing("\"", with: "&quot;")
            case .mpns:
                "?z=123456789012345678901234567890&amp;%C3%A9=12.50&amp;e%CC%81=1.0&amp;a=%7B%22y%22%3A-0%2C%22x%22%3A%5B1E%2B2%5D%7D"
            default: Self.json
            }
        #expect(Self.holds(request.payload, part), "\(request.payload)")
    }

    @Test func `data reach FCM, HarmonyOS and APNs as they were written`() async throws {
        try await SharedFieldsLoopbackTests.withFCM(.androidFCM) { fixture, sent in
            #expect(await fixture.send(["t0"], content: try Self.content()) == [.accepted])
            let payload = try sent("t0")
            #expect(Self.holds(payload, Self.texts), "\(payload)")
        }
        try await HMSLoopbackTests.with(.v3) { simulator, fixture in
            var titled = try Self.content()
            #expect(await fixture.send(["a"], content: titled) == [.accepted])
            let quiet = try #require(simulator.ledger.token(Array("a".utf8))?.lastRequest?.payload)
            #expect(Self.holds(quiet, String(Self.quoted(Self.texts).dropFirst().dropLast())), "\(quiet)")
            titled = Push.Content(body: "B", shared: SharedFields([.title: "T"], data: titled.shared.data))
            #expect(await fixture.send(["a"], content: titled) == [.accepted])
            let shown = try #require(simulator.ledger.token(Array("a".utf8))?.lastRequest?.payload)
            // The title stands at its place by name.
            #expect(Self.holds(shown, Self.texts), "\(shown)")
        }
        try await SharedFieldsLoopbackTests.withAPNs { fixture, sent in
            let token = String(repeating: "a", count: 32)
            #expect(await fixture.send([token], content: try Self.content()) == [.accepted])
            let payload = try sent(token).payload
            #expect(Self.holds(payload, Self.json), "\(payload)")
        }
    }
}
