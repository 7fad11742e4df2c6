import Crypto
import Foundation
import Testing

@testable import BelfrySimulators

/// The decryption, held to published vectors and to http_ece.
@Suite(.timeLimit(.minutes(20))) struct EncryptedContentTests {
    /// Source: RFC 8291 §5, Appendix A.
    private static let receiver = ("q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94", "BTBZMqHH6r4Tts7J_aSIgg")
    private static let body =
        "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl"
        + "7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
    private static let text = "When I grow up, I want to be a watermelon"

    private func bytes(_ text: String) throws -> [UInt8] { try #require(Base64URL.decode(text[...])) }

    @Test func `the message of RFC 8291 opens with its receiver's key`() throws {
        let receiver = try WebPushReceiver(privateKey: Self.receiver.0, auth: Self.receiver.1)
        let clear = try receiver.open(bytes(Self.body))
        #expect(String(decoding: clear, as: UTF8.self) == Self.text)
        #expect(
            Base64URL.encode(receiver.publicKey)
                == "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4")
    }

    @Test func `no byte of it may be another`() throws {
        let receiver = try WebPushReceiver(privateKey: Self.receiver.0, auth: Self.receiver.1)
        let body = try bytes(Self.body)
        for index in body.indices where !(16..<20).contains(index) {
            var changed = body
            changed[index] ^= 1
            #expect(throws: EncryptedContent.Problem.self) { try receiver.open(changed) }
        }
        for count in 0..<body.count {
            #expect(throws: EncryptedContent.Problem.self) { try receiver.open(Array(body.prefix(count))) }
        }
    }

    /// Source: RFC 8188 §3.1 and §3.2, one record and two.
    @Test(arguments: [
        (
            "yqdlZ-tYemfogSmv7Ws5PQ",
            "I1BsxtFttlv3u_Oo94xnmwAAEAAA-NAVub2qFgBEuQKRapoZu-IxkIva3MEB1PD-ly8Thjg"
        ),
        (
            "BO3ZVPxUlnLORbVGMpbT1Q",
            "uNCkWiNYzKTnBN9ji3-qWAAAABkCYTHOG8chz_gnvgOqdGYovxyjuqRyJFjEDyoF1Fvkj6hQPdPHI51OEUKEpgz3SsLWIqS_uA"
        ),
    ])
    func `the messages of RFC 8188 open with their keys`(key: String, body: String) throws {
        let clear = try EncryptedContent(bytes(body)).open(with: bytes(key))
        #expect(String(decoding: clear, as: UTF8.self) == "I am the walrus")
    }

    @Test func `the receiver reads http_ece's encryption`() async throws {
        let receiver = WebPushReceiver()
        let texts = ["x", Self.text, String(repeating: "ü", count: 1990)]
        let answers = try await Oracle.ask(
            texts.map {
                [
                    "do": "encrypt", "plaintext": Base64URL.encode($0.utf8),
                    "p256dh": Base64URL.encode(receiver.publicKey), "auth": Base64URL.encode(receiver.auth),
                ]
            })
        #expect(answers.count == texts.count)
        for (text, answer) in zip(texts, answers) {
            let clear = try receiver.open(bytes(try #require(answer["body"]?.string)))
            #expect(String(decoding: clear, as: UTF8.self) == text)
        }
    }
}
