import BelfryService
import BelfryTesting
import Testing

@testable import BelfryGateway

/// The worked example of the wire document, byte by byte.
@Suite struct GatewayDecoderTests {
    private static let token: [UInt8] = hex("00112233445566778899aabbccddeeff0123456789abcdeffedcba9876543210")
    private static let payload = Array(#"{"aps":{"alert":"Hello","badge":1}}"#.utf8)
    private static let json = "7b22617073223a7b22616c657274223a2248656c6c6f222c226261646765223a317d7d"
    private static let tokenText = "00112233445566778899aabbccddeeff0123456789abcdeffedcba9876543210"

    private static let simple = hex("000020" + tokenText + "0023" + json)
    private static let enhanced = hex("01deadbeef6955b9000020" + tokenText + "0023" + json)
    private static let frame = hex(
        "020000005b010020" + tokenText + "020023" + json + "030004deadbeef0400046955b9000500010a")

    private static func hex(_ text: String) -> [UInt8] { [UInt8](hex: text.utf8) ?? [] }

    private static func decode(_ bytes: [UInt8]) throws -> [GatewayRecord] {
        var decoder = GatewayDecoder()
        decoder.append(bytes)
        var records: [GatewayRecord] = []
        while let record = try decoder.next() { records.append(record) }
        return records
    }

    @Test func `the worked example is read, and written, as it stands`() throws {
        #expect(Self.simple.count == 72 && Self.enhanced.count == 80 && Self.frame.count == 96)
        let (identifier, expiry): (UInt32, UInt32) = (0xDEAD_BEEF, 1_767_225_600)
        let expected = [
            GatewayRecord(command: .simple, token: Self.token, payload: Self.payload),
            GatewayRecord(
                command: .enhanced, identifier: identifier, token: Self.token, payload: Self.payload, expiry: expiry),
            GatewayRecord(
                command: .frame, identifier: identifier, token: Self.token, payload: Self.payload, expiry: expiry),
        ]
        #expect(try Self.decode(Self.simple + Self.enhanced + Self.frame) == expected)
        #expect(expected.map(\.bytes) == [Self.simple, Self.enhanced, Self.frame])
        #expect(GatewayError(.invalidToken, identifier: identifier).bytes == Self.hex("0808deadbeef"))
        #expect(GatewayError(.shutdown, identifier: identifier).bytes == Self.hex("080adeadbeef"))
        #expect(GatewayError(.protocolError).bytes == Self.hex("088000000000"))
        #expect(GatewayError(bytes: Self.hex("0808deadbeef")) == GatewayError(.invalidToken, identifier: identifier))
        let tuple = FeedbackTuple(time: 1_767_225_661, token: Self.token)
        #expect(tuple.bytes == Self.hex("6955b93d0020" + Self.tokenText))
        #expect(FeedbackTuple.list(tuple.bytes + tuple.bytes) == [tuple, tuple])
        #expect(FeedbackTuple.list(tuple.bytes.dropLast()) == nil)
    }

    @Test func `items come in any order, and most may be missing`() throws {
        let items = [
            "010020" + Self.tokenText, "020023" + Self.json, "030004deadbeef", "0400046955b900", "05000105",
        ]
        let orders = [[0, 1, 2, 3, 4], [2, 0, 1, 3, 4], [4, 3, 2, 1, 0], [1, 4, 0, 3, 2]]
        for order in orders {
            let body = Self.hex(order.map { items[$0] }.joined())
            let record = try #require(try Self.decode([2] + UInt32(body.count).octets + body).first)
            #expect(record.identifier == 0xDEAD_BEEF && record.expiry == 1_767_225_600)
            #expect(record.priority == .considerate && record.token == Self.token && record.payload == Self.payload)
        }
        let least = Self.hex(items[1] + items[0])
        let record = try #require(try Self.decode([2] + UInt32(least.count).octets + least).first)
        #expect(record.identifier == 0 && record.expiry == nil && record.priority == .immediate)
    }

    /// A token of 32 bytes behind its length.
    private static let sized = "0020" + String(repeating: "11", count: 32)

    @Test(arguments: [
        ("03", GatewayStatus.protocolError, 0, false), ("0200010000", .protocolError, 0, false),
        ("000000", .missingToken, 0, true), ("000065", .invalidTokenSize, 0, true),
        ("00001f", .invalidTokenSize, 0, true), ("01deadbeef00000000001f", .invalidTokenSize, 0xDEAD_BEEF, false),
        ("020000000b030004deadbeef01000111", .invalidTokenSize, 0xDEAD_BEEF, false),
        ("00\(sized)0000", .missingPayload, 0, true), ("00\(sized)0801", .invalidPayloadSize, 0, true),
        ("01deadbeef000000000000", .missingToken, 0xDEAD_BEEF, false),
        ("01deadbeef00000000\(sized)ffff", .invalidPayloadSize, 0xDEAD_BEEF, false),
        ("0200000007030004deadbeef", .missingToken, 0xDEAD_BEEF, false),
        ("020000002a030004deadbeef01\(sized)", .missingPayload, 0xDEAD_BEEF, false),
        ("020000000e030004deadbeef030004deadbeef", .protocolError, 0xDEAD_BEEF, false),
        ("020000000b030004deadbeef09000111", .protocolError, 0xDEAD_BEEF, false),
        ("0200000009030004deadbeef0100", .protocolError, 0xDEAD_BEEF, false),
        ("020000000b030004deadbeef05000107", .protocolError, 0xDEAD_BEEF, false),
        ("0200000003010005", .protocolError, 0, false), ("0200000000", .missingToken, 0, false),
    ])
    func `a fault has its status and any known identifier`(
        bytes: String, status: GatewayStatus, identifier: UInt32, isSilent: Bool
    ) throws {
        var decoder = GatewayDecoder()
        decoder.append(Self.simple + Self.hex(bytes))
        #expect(try decoder.next()?.command == .simple)
        do {
            let record = try decoder.next()
            Issue.record("taken: \(String(describing: record))")
        } catch {
            #expect(error.error == GatewayError(status, identifier: identifier) && error.isSilent == isSilent)
        }
        decoder.append(Self.simple)
        #expect(try decoder.next() == nil && decoder.heldBytes == 0, "nothing is read behind a fault")
    }

    @Test func `network splits change no record and cost little memory`() throws {
        var random = SplitMix64(seed: 7)
        var records: [GatewayRecord] = []
        for number in 0..<200 {
            let command = GatewayRecord.Command.allCases[number % 3]
            records.append(
                GatewayRecord(
                    command: command, identifier: command == .simple ? 0 : UInt32(number),
                    token: [UInt8](repeating: 1, count: Int.random(in: 32...100, using: &random)),
                    payload: [UInt8](repeating: 2, count: Int.random(in: 1...2_048, using: &random)),
                    expiry: command == .simple ? nil : 9))
        }
        var rest = records.flatMap(\.bytes)[...]
        var decoder = GatewayDecoder()
        var decoded: [GatewayRecord] = []
        while !rest.isEmpty {
            let piece = rest.prefix(Int.random(in: 1...5_000, using: &random))
            rest = rest.dropFirst(piece.count)
            decoder.append(piece)
            while let record = try decoder.next() { decoded.append(record) }
            #expect(decoder.heldBytes <= 5 + 2_048 + 200)
        }
        #expect(decoded == records)
    }
}
