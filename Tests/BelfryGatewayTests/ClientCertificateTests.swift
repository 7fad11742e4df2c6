import Foundation
import NIOSSL
import Testing

@testable import BelfryGateway

@Suite struct ClientCertificateTests {
    @Test func `the passphrase alone opens the file's certificate and key`() throws {
        let made = try ClientCertificate(name: "sender", validity: .seconds(86_400))
        let p12 = try made.p12(passphrase: "correct hörse")
        let bundle = try NIOSSLPKCS12Bundle(buffer: p12, passphrase: Array("correct hörse".utf8))
        #expect(try bundle.certificateChain.map { try $0.toDERBytes() } == [made.certificate])
        let key = try NIOSSLPrivateKey(bytes: made.key, format: .der)
        #expect(bundle.privateKey == key)
        #expect(made.fingerprint.count == 32)
        #expect(throws: (any Error).self) {
            try NIOSSLPKCS12Bundle(buffer: p12, passphrase: Array("wrong".utf8))
        }
    }
}
