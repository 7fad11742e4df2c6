import Crypto
import Foundation
import HTTP2Client
import Synchronization
import Testing

@testable import APNs

@Suite struct TokenScheduleTests {
    private let noon: Int64 = 1_750_000_000 / 1_800 * 1_800

    @Test func `nodes started within one grid step share an issue time`() {
        let times = ([121, 700, 1_800, 1_919] as [Int64]).map { offset -> Int64? in
            var schedule = TokenSchedule()
            _ = schedule.advance(at: noon + offset)
            return schedule.issuedAt
        }
        #expect(times == [noon, noon, noon, noon])
    }

    @Test func `a token lives between 20 and 60 minutes`() {
        for start in stride(from: noon, to: noon + 3_600, by: 370) {
            for expiresAt in [nil, start + 11, start + 1_700] {
                var schedule = TokenSchedule()
                var changes: [Int64] = []
                var ages: Set<Int64> = []
                for now in stride(from: start, to: start + 4 * 3_600, by: 11) {
                    if expiresAt == now { _ = schedule.expire(0, at: now) }
                    if schedule.advance(at: now), now != start { changes.append(now) }
                    ages.insert(now - (schedule.issuedAt ?? 0))
                }
                #expect(ages.allSatisfy { 0..<3_600 ~= $0 })
                #expect(zip(changes, changes.dropFirst()).allSatisfy { $1 - $0 >= 20 * 60 })
            }
        }
    }

    @Test func `a thousand expired-token answers replace the token once`() {
        var schedule = TokenSchedule()
        _ = schedule.advance(at: noon + 200)
        let replaced = (0..<1_000).count { _ in schedule.expire(0, at: noon + 300) }
        #expect(replaced == 1)
        #expect(schedule.issuedAt == noon + 300)
    }

    @Test func `a clock set back leaves no token from the future`() {
        var schedule = TokenSchedule()
        _ = schedule.advance(at: noon + 86_400)
        let isDue = schedule.advance(at: noon + 200)
        #expect(isDue)
        #expect(schedule.issuedAt == noon)
    }
}

@Suite struct ProviderTokenTests {
    @Test func `a token is an ES256 JWT verified by its key`() throws {
        let key = P256.Signing.PrivateKey()
        let signer = try APNsSigningKey(p8: key.pemRepresentation, keyID: "ABCDE12345", teamID: "TEAM123456")
        let parts = String(decoding: try signer.token(issuedAt: 1_750_000_000), as: UTF8.self).split(separator: ".")
        #expect(parts.count == 3)
        let decoded = try parts.map { try #require(Self.decode(String($0))) }
        #expect(String(decoding: decoded[0], as: UTF8.self) == #"{"alg":"ES256","kid":"ABCDE12345","typ":"JWT"}"#)
        #expect(String(decoding: decoded[1], as: UTF8.self) == #"{"iss":"TEAM123456","iat":1750000000}"#)
        let signature = try P256.Signing.ECDSASignature(rawRepresentation: decoded[2])
        #expect(key.publicKey.isValidSignature(signature, for: Data("\(parts[0]).\(parts[1])".utf8)))
    }

    @Test func `one signature serves until the next grid step`() throws {
        let signed = Mutex<[Int64]>([])
        let token = ProviderToken { issuedAt in
            signed.withLock { $0.append(issuedAt) }
            return Array("\(issuedAt)".utf8)
        }
        let noon: Int64 = 1_800 * 972_222
        for offset: Int64 in [200, 500, 1_900, 1_921] { _ = try token.header(at: noon + offset) }
        #expect(signed.withLock { $0 } == [noon, noon + 1_800])
        let header = try token.header(at: noon + 1_922)
        #expect(String(decoding: header.value, as: UTF8.self) == "bearer \(noon + 1_800)")
        #expect(token.expire(0, at: noon + 2_000))
        #expect(!token.expire(0, at: noon + 2_001))
        _ = try token.header(at: noon + 2_002)
        #expect(signed.withLock { $0 }.last == noon + 2_000)
    }

    @Test func `only a P-256 key in PEM is taken`() {
        let other = P384.Signing.PrivateKey().pemRepresentation
        for p8 in ["", "nonsense", other] {
            let error = #expect(throws: APNsCredentialsError.self) {
                try APNsCredentials.token(p8: p8, keyID: "ABCDE12345", teamID: "TEAM123456")
            }
            #expect(error?.code == .key)
        }
        for (keyID, teamID, code) in [
            ("A\"B", "TEAM123456", APNsCredentialsError.Code.keyIdentifier), ("ABCDE12345", "TEAM", .teamIdentifier),
        ] {
            let error = #expect(throws: APNsCredentialsError.self) {
                try APNsCredentials.token(
                    p8: P256.Signing.PrivateKey().pemRepresentation, keyID: keyID, teamID: teamID)
            }
            #expect(error?.code == code)
        }
    }

    private static func decode(_ text: String) -> Data? {
        let plain = text.replacing("-", with: "+").replacing("_", with: "/")
        return Data(base64Encoded: plain + String(repeating: "=", count: (4 - plain.count % 4) % 4))
    }
}
