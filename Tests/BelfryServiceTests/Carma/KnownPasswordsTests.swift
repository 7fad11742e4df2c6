import BelfryTesting
import FoundationEssentials
import HTTPTypes
import Hummingbird
import HummingbirdTesting
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

    /// Its hashes of one password differ, as those with a salt do.
    private struct Salted: PasswordHashing {
        func hash(_ password: Password, for caller: DerivationCaller) async throws -> String { password.text }

        func matches(_ password: String, _ hash: String?, for caller: DerivationCaller) async throws -> Bool {
            hash?.hasSuffix(password) == true
        }
    }

    @Test func `customers may share a user and its password`() async throws {
        let (clock, vault) = (ManualClock(), PlaintextVault())
        let store = try SQLiteStore.temporary(clock: clock)
        for customer: UInt8 in [1, 2] {
            _ = try await store.createCarmaAccount(
                customerID: Int64(customer), user: "anna", passwordHash: Array("\(customer)lunch".utf8),
                tokenHash: [customer])
        }
        let router = ResponseMiddleware.router(clock: clock)
        CarmaRoutes(
            Services(
                store: store, vault: vault, clock: clock, credentials: PlaintextCredentials(vault: vault),
                passwords: Salted())
        ).add(to: router)
        let basic = "Basic \(Data("anna:lunch".utf8).base64EncodedString())"
        try await Hummingbird.Application(router: router).test(.router) { client in
            for (customer, status) in [(1, 200), (2, 200), (1, 200), (3, 403)] {
                let answer = try await client.execute(
                    uri: "/rest/\(customer)/lists", method: .get, headers: [.authorization: basic])
                #expect(answer.status.code == status, "\(customer)")
            }
        }
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
