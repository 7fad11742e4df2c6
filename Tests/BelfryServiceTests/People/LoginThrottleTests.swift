import BelfryService
import Testing

@Suite struct LoginThrottleTests {
    private static let noon = Instant(milliseconds: 1_700_000_000_000)
    private static let home = NetworkAddress(v4: 0xC000_0201)
    private static let elsewhere = NetworkAddress(v4: 0xC633_6401)

    @Test(
        arguments: [
            (0, 0), (5, 0), (6, 100), (7, 200), (8, 400), (9, 800), (10, 1_600), (14, 25_600), (15, 30_000),
            (16, 30_000),
            (1_000_000, 30_000),
        ] as [(Int, Int64)])
    func `the wait doubles with each failure, to half a minute`(failures: Int, milliseconds: Int64) {
        #expect(LoginThrottle.Policy(failuresAllowed: 5).wait(after: failures) == .milliseconds(milliseconds))
    }

    @Test func `a failing name waits only where it failed`() {
        var list = LoginThrottle()
        for _ in 0..<8 { list.failed(1, at: Self.home, now: Self.noon) }
        #expect(list.wait(for: 1, at: Self.home, now: Self.noon) == .milliseconds(400))
        #expect(list.wait(for: 1, at: Self.home, now: Self.noon + .milliseconds(399)) == .milliseconds(1))
        #expect(list.wait(for: 1, at: Self.home, now: Self.noon + .milliseconds(400)) == nil)
        #expect(list.wait(for: 1, at: Self.elsewhere, now: Self.noon) == nil)
        #expect(list.wait(for: 2, at: Self.home, now: Self.noon) == nil)
    }

    @Test func `a right secret or a quarter hour ends the wait`() {
        var list = LoginThrottle()
        for _ in 0..<20 { list.failed(1, at: Self.home, now: Self.noon) }
        list.succeeded(1, at: Self.home, now: Self.noon)
        #expect(list.wait(for: 1, at: Self.home, now: Self.noon) == nil)
        for _ in 0..<20 { list.failed(2, at: Self.home, now: Self.noon) }
        let later = Self.noon + LoginThrottle.memory + .milliseconds(1)
        list.failed(2, at: Self.home, now: later)
        #expect(list.wait(for: 2, at: Self.home, now: later) == nil)
    }

    @Test func `an address guessing many names waits, except admitted names`() {
        var list = LoginThrottle()
        list.failed(0, at: Self.home, now: Self.noon)
        list.succeeded(7, at: Self.home, now: Self.noon)
        for name in 1_000..<1_150 { list.failed(name, at: Self.home, now: Self.noon) }
        #expect(list.wait(for: 1, at: Self.home, now: Self.noon) == .seconds(30))
        #expect(list.wait(for: nil, at: Self.home, now: Self.noon) == .seconds(30))
        #expect(list.wait(for: 7, at: Self.home, now: Self.noon) == nil)
        #expect(list.wait(for: 1, at: Self.elsewhere, now: Self.noon) == nil)
        // Who guesses at a name that was let in is still held to that name's own wait.
        for _ in 0..<10 { list.failed(7, at: Self.home, now: Self.noon) }
        #expect(list.wait(for: 7, at: Self.home, now: Self.noon) != nil)
    }

    /// How often a name can be tried in so long at nodes that share a login throttle's limits, at each as soon as it
    /// lets one try.
    private static func tries(at nodes: Int, in time: Duration) -> Int {
        (0..<nodes).reduce(0) { sum, _ in
            var list = LoginThrottle()
            list.take(NodeShare(nodes: nodes))
            var (now, tries) = (noon, 0)
            while now < noon + time {
                if let wait = list.wait(for: 1, at: home, now: now) {
                    now = now + wait
                } else {
                    list.failed(1, at: home, now: now)
                    tries += 1
                }
            }
            return sum + tries
        }
    }

    @Test(arguments: 2...8) func `guessing at many nodes gains no tries over one`(nodes: Int) {
        let hours = (Self.tries(at: 1, in: .seconds(7_200)), Self.tries(at: nodes, in: .seconds(7_200)))
        let start = (Self.tries(at: 1, in: .seconds(3_600)), Self.tries(at: nodes, in: .seconds(3_600)))
        #expect(hours.1 - start.1 <= hours.0 - start.0 + nodes)
        // What is let through before the longest wait is reached.
        #expect(start.1 <= start.0 + 10 * (nodes - 1))
    }

    @Test func `each node forgives its part of the tries`() {
        var list = LoginThrottle()
        list.take(NodeShare(nodes: 2))
        for _ in 0..<2 { list.failed(1, at: Self.home, now: Self.noon) }
        #expect(list.wait(for: 1, at: Self.home, now: Self.noon) == nil)
        list.failed(1, at: Self.home, now: Self.noon)
        #expect(list.wait(for: 1, at: Self.home, now: Self.noon) == .milliseconds(200))
        list.take(.whole)
        #expect(list.wait(for: 1, at: Self.home, now: Self.noon) == nil)
    }

    // MARK: Guesses

    private static func guess(_ address: UInt32, device: Int? = nil, _ policy: LoginThrottle.Policy? = .code)
        -> LoginThrottle.Guess
    {
        LoginThrottle.Guess(at: 1, from: NetworkAddress(v4: address), device: device, policy: policy)
    }

    @Test func `parallel guesses count as sequential ones`() {
        var list = LoginThrottle()
        let admitted = (0..<250).filter { _ in list.reserve(Self.guess(1), now: Self.noon) == nil }
        #expect(admitted.count == 6)
    }

    @Test func `an account has a limit over all addresses`() {
        var list = LoginThrottle()
        let admitted = (0..<250).filter { list.reserve(Self.guess(UInt32($0)), now: Self.noon) == nil }
        #expect(admitted.count == LoginThrottle.Policy.code.failuresAllowed + 1)
        // A day of guesses from as many addresses as one likes.
        var (now, day) = (Self.noon, 0)
        while now < Self.noon + .seconds(86_400) {
            day += 1
            if let wait = list.reserve(Self.guess(UInt32(1_000 + day)), now: now) { now = now + wait }
        }
        #expect(day < 2 * 170, "each is refused once and admitted once")
    }

    @Test func `a known browser has a count of its own`() {
        var list = LoginThrottle()
        for address in 0..<250 as Range<UInt32> { _ = list.reserve(Self.guess(address), now: Self.noon) }
        for _ in 0..<100 { list.failed(1, at: Self.home, now: Self.noon) }
        #expect(list.reserve(Self.guess(0xC000_0201, device: 9), now: Self.noon) == nil)
        let more = (0..<50).filter { _ in
            list.reserve(Self.guess(0xC000_0201, device: 9), now: Self.noon) == nil
        }
        #expect(more.count == 5)
    }

    @Test func `a right or unchecked guess takes its count back`() {
        var list = LoginThrottle()
        for _ in 0..<4 { #expect(list.reserve(Self.guess(1), now: Self.noon) == nil) }
        list.withdraw(Self.guess(1))
        list.succeeded(Self.guess(1), now: Self.noon)
        let admitted = (0..<50).filter { _ in list.reserve(Self.guess(1), now: Self.noon) == nil }
        #expect(admitted.count == 6)
        var empty = LoginThrottle()
        _ = empty.reserve(Self.guess(1), now: Self.noon)
        empty.succeeded(Self.guess(1), now: Self.noon)
        #expect(empty.isEmpty)
    }

    @Test func `any number of names and addresses takes bounded memory`() {
        var list = LoginThrottle(countMax: 1_000)
        for number in 0..<20_000 {
            list.failed(number, at: NetworkAddress(v4: UInt32(number)), now: Self.noon)
        }
        #expect(list.count <= 1_000)
    }

    @Test func `an IPv6 host cannot escape by changing addresses`() {
        let first = NetworkAddress(high: 0x2001_0DB8_0000_0001, low: 1)
        let second = NetworkAddress(high: 0x2001_0DB8_0000_0001, low: 0xFFFF_FFFF_0000)
        #expect(first.site == second.site)
        #expect(first.site != NetworkAddress(high: 0x2001_0DB8_0000_0002, low: 1).site)
        #expect(Self.home.site == Self.home)
        #expect(Self.home.site != Self.elsewhere.site)
    }
}

@Suite struct NetworkBlockTests {
    @Test(
        arguments: [
            (0x0A00_0000, 8, 0x0AFF_FFFF, true), (0x0A00_0000, 8, 0x0B00_0000, false),
            (0x0A01_0203, 32, 0x0A01_0203, true),
            (0x0A01_0203, 32, 0x0A01_0202, false), (0, 0, 0xFFFF_FFFF, true), (0xC0A8_0100, 24, 0xC0A8_01FE, true),
        ] as [(UInt32, Int, UInt32, Bool)])
    func `a block holds the addresses that share its bits`(
        network: UInt32, prefix: Int, address: UInt32, isIn: Bool
    ) throws {
        let block = try #require(NetworkBlock(NetworkAddress(v4: network), prefix: prefix))
        #expect(block.contains(NetworkAddress(v4: address)) == isIn)
    }

    @Test func `an IPv6 block ends anywhere and holds no IPv4`() throws {
        let address = NetworkAddress(high: 0x2001_0DB8_0000_0000, low: 0x10)
        for prefix in [0, 1, 32, 63, 64, 65, 127, 128] {
            let block = try #require(NetworkBlock(address, prefix: prefix))
            #expect(block.contains(address))
            #expect(block.contains(NetworkAddress(high: address.high, low: 0x11)) == (prefix < 128))
            #expect(block.contains(NetworkAddress(high: address.high ^ 1, low: 0x10)) == (prefix < 64))
        }
        #expect(NetworkBlock(address, prefix: 129) == nil)
        #expect(NetworkBlock(NetworkAddress(v4: 0), prefix: 33) == nil)
        #expect(try #require(NetworkBlock(address, prefix: 32)).contains(NetworkAddress(v4: 1)) == false)
    }
}
