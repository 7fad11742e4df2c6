import BelfryAPI
import BelfryCore
import HTTPTypes
import Testing

@testable import BelfryDashboard

@Suite struct ScryptPasswordsTests {
    @Test func `a password matches its hash alone, and each hash has a salt of its own`() async throws {
        let passwords = ScryptPasswords(cost: .cheap)
        let password = try Password("correct horse battery")
        let (first, second) = (try await passwords.hash(password), try await passwords.hash(password))
        #expect(first != second && first.hasPrefix("scrypt$4$8$1$"))
        #expect(try await passwords.matches(password.text, first))
        #expect(try await passwords.matches(password.text, second))
        #expect(try await !passwords.matches("correct horse batterx", first))
        #expect(try await !passwords.matches(password.text, nil))
        #expect(try await !passwords.matches("", first))
    }

    /// Source: RFC 7914 §12, the second vector, with the cost in our form.
    @Test func `keys are those of scrypt`() async throws {
        let key =
            "fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b373162"
        let hash = "scrypt$10$8$16$4e61436c$\(key)"
        #expect(try await ScryptPasswords(cost: .cheap).matches("password", hash))
    }

    @Test(arguments: ["", "scrypt", "scrypt$99$8$1$00$00", "scrypt$4$8$1$zz$00", "plain", "scrypt$4$8$1$00$"])
    func `a damaged hash matches nothing`(hash: String) async throws {
        #expect(try await !ScryptPasswords(cost: .cheap).matches("correct horse battery", hash))
    }

    @Test func `more derivations than the server has room for are refused at once`() async throws {
        let passwords = ScryptPasswords(cost: ScryptPasswords.Cost(logN: 14, r: 8, p: 1))
        let password = try Password("correct horse battery")
        let refused = try await withThrowingTaskGroup(of: Bool.self) { group in
            for _ in 0..<40 {
                group.addTask {
                    do {
                        _ = try await passwords.hash(password)
                        return false
                    } catch let error as APIError {
                        return error.status == .serviceUnavailable
                    }
                }
            }
            return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect((1...32).contains(refused), "\(refused)")
    }
}
