import BelfryTesting
import HTTPTypes
import Synchronization
import Testing

@testable import BelfryService

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

    @Test func `a right password is derived once, wrong ones each time`() async throws {
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

    @Test func `a remembered password costs no derivation`() async throws {
        let counting = Counting()
        let known = KnownPasswords(counting)
        let hash = PlainPasswords.hash("correct horse")
        #expect(!known.isKnown("correct horse", hash))
        _ = try await known.matches("correct horse", hash, for: .local)
        #expect(known.isKnown("correct horse", hash) && !known.isKnown("wrong horse", hash))
        #expect(counting.derivations.withLock { $0 } == 1)
    }
}

/// Passwords that are baked into apps, which an operator moves in as they are.
@Suite struct ShortCarmaPasswordTests {
    private static let words = "299 - \"the password has 5 bytes; one of 8 or more is guessed less soon\""

    @Test func `an operator's short password is accepted with a warning`() async throws {
        let server = try await TestAdminServer()
        let made = try await server.send(
            .post, "carma/accounts", #"{"customer_id":9,"user":"app","password":"lunch"}"#)
        #expect(made.status == 201 && made.headers[.warning] == Self.words, "\(made)")
        let long = try await server.send(
            .post, "carma/accounts", #"{"customer_id":10,"user":"app","password":"eight888"}"#)
        #expect(long.status == 201 && long.headers[.warning] == nil, "\(long)")
    }

    @Test func `an empty password is refused`() async throws {
        let server = try await TestAdminServer()
        let made = try await server.send(
            .post, "carma/accounts", #"{"customer_id":9,"user":"app","password":"a"}"#)
        #expect(made.status == 201 && made.headers[.warning]?.contains("has 1 bytes") == true, "\(made)")
        let empty = try await server.send(
            .post, "carma/accounts", #"{"customer_id":11,"user":"app","password":""}"#)
        #expect(empty.status == 400, "\(empty)")
    }
}
