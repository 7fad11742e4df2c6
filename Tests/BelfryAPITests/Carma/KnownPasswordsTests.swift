import BelfryCore
import BelfryTesting
import Synchronization
import Testing

@testable import BelfryAPI

/// A password of Carma is derived slowly once, and not with each request.
@Suite struct KnownPasswordsTests {
    private final class Counting: PasswordHashing {
        let derivations = Mutex(0)

        func hash(_ password: Password, for caller: DerivationCaller) async throws -> String {
            PlainPasswords.hash(password.text)
        }

        func matches(_ password: String, _ hash: String?, for caller: DerivationCaller) async throws -> Bool {
            derivations.withLock { $0 += 1 }
            return hash == PlainPasswords.hash(password)
        }
    }

    @Test func `the right password is derived once, wrong ones each time, and a replaced one anew`() async throws {
        let counting = Counting()
        let known = KnownPasswords(counting)
        let hash = PlainPasswords.hash("correct horse")
        for _ in 0..<3 { #expect(try await known.matches("correct horse", hash, for: .local)) }
        #expect(counting.derivations.withLock { $0 } == 1)
        for _ in 0..<2 { #expect(try await !known.matches("wrong horse", hash, for: .local)) }
        #expect(counting.derivations.withLock { $0 } == 3)
        #expect(try await !known.matches("correct horse", PlainPasswords.hash("another horse"), for: .local))
        #expect(counting.derivations.withLock { $0 } == 4)
    }

    @Test func `a password that was right before is known, and nothing is derived to know it`() async throws {
        let counting = Counting()
        let known = KnownPasswords(counting)
        let hash = PlainPasswords.hash("correct horse")
        #expect(!known.isKnown("correct horse", hash))
        _ = try await known.matches("correct horse", hash, for: .local)
        #expect(known.isKnown("correct horse", hash) && !known.isKnown("wrong horse", hash))
        #expect(counting.derivations.withLock { $0 } == 1)
    }
}
