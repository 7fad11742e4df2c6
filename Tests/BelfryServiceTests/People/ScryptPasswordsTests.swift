import HTTPTypes
import Testing

@testable import BelfryService

@Suite struct ScryptPasswordsTests {
    @Test func `a password matches only its own salted hash`() async throws {
        let passwords = ScryptPasswords(cost: .cheap)
        let password = try Password("correct horse battery")
        let (first, second) = (
            try await passwords.hash(password, for: .local), try await passwords.hash(password, for: .local)
        )
        #expect(first != second && first.hasPrefix("scrypt$4$8$1$"))
        #expect(try await passwords.matches(password.text, first, for: .local))
        #expect(try await passwords.matches(password.text, second, for: .local))
        #expect(try await !passwords.matches("correct horse batterx", first, for: .local))
        #expect(try await !passwords.matches(password.text, nil, for: .local))
        #expect(try await !passwords.matches("", first, for: .local))
    }

    /// Source: RFC 7914 §12, the second vector, with the cost in our form.
    @Test func `keys are those of scrypt`() async throws {
        let key =
            "fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b373162"
        let hash = "scrypt$10$8$16$4e61436c$\(key)"
        #expect(try await ScryptPasswords(cost: .cheap).matches("password", hash, for: .local))
    }

    @Test(arguments: ["", "scrypt", "scrypt$99$8$1$00$00", "scrypt$4$8$1$zz$00", "plain", "scrypt$4$8$1$00$"])
    func `a damaged hash matches nothing`(hash: String) async throws {
        #expect(try await !ScryptPasswords(cost: .cheap).matches("correct horse battery", hash, for: .local))
    }

    /// Unknown callers of one address, of many addresses, and a known caller.
    enum Crowd: String, CaseIterable {
        case oneAddress, manyAddresses, known

        func caller(_ number: Int) -> DerivationCaller {
            DerivationCaller(
                address: NetworkAddress(v4: self == .oneAddress ? 1 : UInt32(number)), account: number,
                isKnown: self == .known)
        }

        /// The refusal when the caller's own places are taken, or all places.
        var refusal: HTTPResponse.Status { self == .oneAddress ? .tooManyRequests : .serviceUnavailable }

        /// One is served, and so many wait.
        var served: Int {
            let limits = DerivationTurns.Limits()
            return switch self {
            case .oneAddress: 1 + limits.address
            case .manyAddresses: 1 + limits.strangers
            case .known: 1 + limits.known
            }
        }
    }

    @Test(arguments: Crowd.allCases)
    func `more derivations than there are places are refused at once`(crowd: Crowd) async throws {
        let passwords = ScryptPasswords(cost: ScryptPasswords.Cost(logN: 14, r: 8, p: 1))
        let password = try Password("correct horse battery")
        let refused = try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 0..<200 {
                group.addTask {
                    do {
                        _ = try await passwords.hash(password, for: crowd.caller(number))
                        return false
                    } catch let error as APIError {
                        #expect(error.status == crowd.refusal && error.headers[.retryAfter] == "2")
                        return true
                    }
                }
            }
            return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        // Some may be done before the last ones ask.
        #expect(refused <= 200 - crowd.served && refused > 0, "\(refused)")
    }
}
