import Foundation
import Testing

@testable import APNs

/// The p12 files are made by openssl, which shares no code with what reads them.
@Suite struct APNsCertificateTests {
    private static let modern: [String] = []
    private static let tripleDES = ["-legacy", "-keypbe", "PBE-SHA1-3DES", "-certpbe", "PBE-SHA1-3DES"]
    private static let rc2 = ["-legacy", "-keypbe", "PBE-SHA1-3DES", "-certpbe", "PBE-SHA1-RC2-40"]

    @Test(arguments: [modern, tripleDES, rc2])
    func `a p12 opens with its passphrase in both encryptions`(encryption: [String]) throws {
        let p12 = try OpenSSL.p12(passphrase: "pass wörd", encryption: encryption)
        let credentials = try APNsCredentials.certificate(p12: p12, passphrase: "pass wörd")
        #expect(credentials.topic == "com.example.app")
        let days = (Double(try #require(credentials.notAfter)) - Date().timeIntervalSince1970) / 86_400
        #expect((9.9...10.1).contains(days))
    }

    /// As Keychain Access exports them, with the authorities' certificates beside the app's own.
    @Test(arguments: [modern, rc2])
    func `the certificate of the key is presented among several`(encryption: [String]) throws {
        let p12 = try OpenSSL.p12(passphrase: "x", encryption: encryption, parts: .chain)
        #expect(try APNsCredentials.certificate(p12: p12, passphrase: "x").topic == "com.example.app")
    }

    @Test func `a wrong passphrase is told from a broken file`() throws {
        let p12 = try OpenSSL.p12(passphrase: "right")
        #expect(code(p12, "wrong") == .passphrase)
        #expect(code(p12, "") == .passphrase)
        #expect(code(Array(p12.dropLast(100)), "right") == .p12)
        #expect(code(Array("not a p12".utf8), "right") == .p12)
        #expect(code([], "right") == .p12)
    }

    @Test func `a certificate is refused outside its validity`() throws {
        let p12 = try OpenSSL.p12(passphrase: "x")
        let now = Int64(Date().timeIntervalSince1970)
        #expect(code(p12, "x", now: now + 11 * 86_400) == .expired)
        #expect(code(p12, "x", now: now - 2 * 86_400) == .notYetValid)
    }

    @Test func `a key that belongs to another certificate is refused`() throws {
        #expect(code(try OpenSSL.p12(passphrase: "x", parts: .foreignKey), "x") == .keyMismatch)
    }

    @Test func `a file without key or certificate is refused`() throws {
        #expect(code(try OpenSSL.p12(passphrase: "x", parts: .certificateOnly), "x") == .incomplete)
        #expect(code(try OpenSSL.p12(passphrase: "x", parts: .keyOnly), "x") == .incomplete)
    }

    private func code(_ p12: [UInt8], _ passphrase: String, now: Int64 = wallClockSeconds()) -> APNsCredentialsError
        .Code?
    {
        do throws(APNsCredentialsError) {
            _ = try APNsCredentials.certificate(p12: p12, passphrase: passphrase, now: now)
            return nil
        } catch {
            return error.code
        }
    }
}
