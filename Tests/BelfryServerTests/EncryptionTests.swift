import BelfryService
import BelfrySimulators
import Crypto
import Foundation
import MessageEncryption
import Testing

/// An encrypted message through the whole server, which keeps nothing that could be read.
extension ServerTests {
    @Suite struct EncryptionTests {
        private static let text = #"{"title":"Invoice 4711","body":"The heron flies at dawn"}"#
        private static let refused = "A plain heron that is refused"

        @Test func `database, log and backup have ciphertext alone`() async throws {
            try await TestInstallation.with(simulate: { $0.listening.ledgerDetail = .payloads }) { installation in
                let edited = try await installation.run(
                    "app", "edit", installation.application, "--encrypted-only", "true")
                #expect(edited.status == 0, "\(edited)")
                let server = try await installation.serve(["BELFRY_LOG_LEVEL": "trace"])
                defer { server.endAtOnce() }
                let base = try await server.addresses().http
                let (key, secret) = (P256.KeyAgreement.PrivateKey(), [UInt8](repeating: 3, count: 16))
                let keys = try DeviceKeys(publicKey: Array(key.publicKey.x963Representation), secret: secret)
                let token = String(repeating: "ab", count: 32)
                let registered = try await installation.app(at: base).send(
                    "POST", "/v1/registration",
                    #"{"registration_token":"\#(token)","encryption_keys":{"p256dh":"\#(keys.p256dh)","auth":"\#(keys.auth)"}}"#
                )
                let device = try #require(
                    try JSONValue(json: registered.body.utf8)["device_uuid"]?.stringValue, "\(registered)")
                let sender = installation.sender(at: base)
                let plain = try await sender.send(
                    "POST", "/v1/push", #"{"message":{"body":"\#(Self.refused)"},"target":{"devices":["\#(device)"]}}"#)
                #expect(plain.status == 400 && plain.body.contains("message.encrypted"), "\(plain)")
                let sealed = try keys.seal(Self.text)
                let pushed = try await sender.send(
                    "POST", "/v1/push",
                    #"{"message":{"encrypted":{"\#(device)":"\#(sealed)"}},"target":{"devices":["\#(device)"]}}"#)
                #expect(200..<300 ~= pushed.status, "\(pushed)")
                let bytes = [UInt8](repeating: 0xAB, count: 32)
                let told = try await eventually("the message is told") {
                    installation.simulator.ledger.token(bytes)?.lastRequest
                }
                let payload = try JSONValue(json: told.payload.utf8)
                #expect(payload["aps"]?["alert"]?["body"] == .string("New message"))
                let message = try #require(payload["encrypted"]?.stringValue)
                #expect(try key.open(message, secret: secret) == Array(Self.text.utf8))
                let copy = installation.scratch.file("copy")
                #expect(try await installation.run("backup", "--to", copy).status == 0)
                try await server.end(SIGTERM)
                try Self.search(installation.scratch.file(""), for: message)
            }
        }

        /// The ciphertext has to be found, or the search would prove nothing.
        private static func search(_ folder: String, for ciphertext: String) throws {
            let files = FileManager.default.enumerator(
                at: URL(fileURLWithPath: folder), includingPropertiesForKeys: [.isRegularFileKey])
            var holders = 0
            for case let file as URL in files ?? FileManager.DirectoryEnumerator() {
                guard try file.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile == true else { continue }
                let data = try Data(contentsOf: file)
                if data.range(of: Data(ciphertext.utf8)) != nil { holders += 1 }
                for words in ["heron flies", "Invoice 4711", refused, Data(text.utf8).base64EncodedString()] {
                    #expect(data.range(of: Data(words.utf8)) == nil, "\(file.path) has '\(words)'")
                }
            }
            #expect(holders >= 2, "the database and its backup have the ciphertext")
        }
    }
}
