import BelfryService
import Testing

@Suite struct TokenMoveTests {
    private static let (old, new) = (DeviceToken(bytes: [1]), DeviceToken(bytes: [2]))

    private static func party(
        _ key: Int64, _ token: DeviceToken?, isActive: Bool = true, at seconds: Int64 = 0
    ) -> TokenMove.Holder {
        TokenMove.Holder(
            key: Key(key), token: token, isActive: isActive, registeredAt: Instant(milliseconds: seconds * 1_000))
    }

    @Test(
        arguments: [
            (party(1, old), nil, .taken(evicted: nil)), (party(1, old), party(1, new), .taken(evicted: nil)),
            (party(1, new), nil, .stale), (party(1, nil), nil, .stale), (party(1, old, isActive: false), nil, .stale),
            (party(1, old, at: 5), party(2, new, at: 4), .taken(evicted: Key(2))),
            (party(1, old, at: 5), party(2, new, at: 5), .superseded),
            (party(1, old, at: 5), party(2, new, at: 6), .superseded),
            (party(1, old, at: 5), party(2, new, isActive: false, at: 6), .taken(evicted: Key(2))),
            (party(1, old, isActive: false), party(2, new), .stale),
        ] as [(TokenMove.Holder, TokenMove.Holder?, TokenMove)])
    func `a token has one active device, the later registration`(
        device: TokenMove.Holder, holder: TokenMove.Holder?, expected: TokenMove
    ) {
        #expect(TokenMove(of: device, from: Self.old, holder: holder) == expected)
    }
}
