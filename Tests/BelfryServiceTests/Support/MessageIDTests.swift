import BelfryService
import FoundationEssentials
import Testing

@Suite struct MessageIDTests {
    @Test func `one push to one device has one version 8 UUID`() {
        let push = UUID(words: 1, 2)
        for device in (1...100).map(Key<Device>.init) {
            let (first, second) = MessageID(push: push).words(for: device)
            #expect((first, second) == MessageID(push: push).words(for: device))
            #expect(first >> 12 & 0xF == 8)
            #expect(second >> 62 == 0b10)
        }
    }

    @Test func `no two messages share an id`() {
        let ids = Set(
            (1...20 as ClosedRange<UInt64>).flatMap { push in
                (1...100 as ClosedRange<Int64>).map { device in
                    let (first, second) = MessageID(push: UUID(words: 7, push)).words(for: Key(device))
                    return UUID(words: first, second)
                }
            })
        #expect(ids.count == 2_000)
    }
}
