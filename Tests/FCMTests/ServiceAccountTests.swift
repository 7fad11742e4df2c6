import CryptoExtras
import Foundation
import Testing

@testable import FCM

/// A service account as the Firebase console hands it out.
struct SampleAccount {
    let key: _RSA.Signing.PrivateKey

    init() throws { key = try _RSA.Signing.PrivateKey(keySize: .bits2048) }

    func json(_ change: (inout [String: String]) -> Void = { _ in }) throws -> [UInt8] {
        var members = [
            "type": "service_account", "project_id": "my-bakery", "private_key_id": "0123abcd",
            "private_key": key.pkcs8PEMRepresentation, "client_email": "belfry@my-bakery.iam.gserviceaccount.com",
            "client_id": "1", "token_uri": "https://oauth2.googleapis.com/token",
        ]
        change(&members)
        return Array(try JSONSerialization.data(withJSONObject: members))
    }
}

@Suite struct ServiceAccountTests {
    private static func decoded(_ part: Substring) throws -> Data {
        let standard = part.replacing("-", with: "+").replacing("_", with: "/")
        return try #require(Data(base64Encoded: standard + String(repeating: "=", count: (4 - standard.count % 4) % 4)))
    }

    @Test func `an assertion is an RS256 JWT verified by its key`() throws {
        let account = try SampleAccount()
        let credentials = try FCMCredentials(serviceAccount: account.json())
        guard case .key(let key) = credentials.identity else {
            Issue.record("a service account has a key")
            return
        }
        let parts = try key.assertion(at: 1_700_000_000).split(separator: ".")
        try #require(parts.count == 3)
        let head = try JSONDecoder().decode([String: String].self, from: Self.decoded(parts[0]))
        #expect(head == ["alg": "RS256", "typ": "JWT", "kid": "0123abcd"])
        let claims = String(decoding: try Self.decoded(parts[1]), as: UTF8.self)
        #expect(
            claims == #"{"aud":"https://oauth2.googleapis.com/token","exp":1700003600,"iat":1700000000,"#
                + #""iss":"belfry@my-bakery.iam.gserviceaccount.com","#
                + #""scope":"https://www.googleapis.com/auth/firebase.messaging"}"#)
        let signature = _RSA.Signing.RSASignature(rawRepresentation: try Self.decoded(parts[2]))
        #expect(
            account.key.publicKey.isValidSignature(
                signature, for: Data("\(parts[0]).\(parts[1])".utf8), padding: .insecurePKCS1v1_5))
    }

    /// RSASSA-PKCS1-v1_5 draws nothing, so the signature comes out byte for byte. Source: RFC 7515 Appendix A.2.
    @Test func `RFC 7515's RS256 example is reproduced byte for byte`() throws {
        let der = """
            MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQCh+BYK4uPJtGXOjS1lYmM2K5J9vinh8CR3/BYlzJChNuOL2TSX\
            xbbqY913EeZ8dCn5VrD7io8ImtxLaYk8wTM/U+3QGbh3hCUv7JFP5IV3aVlL6kKA0ywPVb9ilE8TA5a8bpvfbr3SvaNnjuygxmj3\
            AbONv/s4yDQs4v5tJ/reSlpIdJed1LnPmt7Ex1sFhSwsD174pcF1A5L5ROjtZMEQxrZHYJqkeDrrnGya11UxMFBji4NmXG9veoKj\
            lnAqH2QbgtPr8jkiGUkftoaHLFcW9Qr4NY2ai50Xw0Byj3+H2JoY2PyrZ62EWQwuz3WTOTY8BwNNb2BvniHgVFbK5emhAgMBAAEC\
            ggEAEq5xpGnNCivDflJsRQBXHx1hdR1k6Ulwe2JZD50LpXyWPEAeP88vLNO97IjlA7/GQ5sLKMgvfTeXZx9SE+7YwVol2NXOoAJe\
            46sui395IW/GO+pWJ1O0BkTGoVEn2bKVRUCgu+GjBVaYLU6f3l9kJfFNS3E0QbVdxzubSu3Mkqzjkn439X0M/V51gfpRLI9JYanr\
            C4D4qAdGcopV/0ZHHzQlBjudU2QvXt4ehNYTCBr6XCLQUShb1juUO1ZdiYoFaFQT5Tw8bGUl/x/jTj3ccPDVZFD9pIuhLhBOneuf\
            uBiB4cS98l2SR/RQyGWSeWjnczT0QU91p1DhOVRuOopznQKBgQDgHMQQ60imZV1URk0KpLttoLhyt3SmqdEf/kgHePDdtzEafpAu\
            +cS191R2JiuoF2yzWXnwFDcqGigp5BNr0AHQfD8/Lk8l1Mk09jxxCfui5nYooNyac8YFjm3vItzVCVDnEd3BbVWG8qf6deqElMGA\
            g+C2V0L4oNXnP7LZcPAZRwKBgQC5A8R+CZW2MvRTLLHzwZkUXV866cff7tx6kqa0finGG0KgeqlaZPxgCZnFp7AeAcCMtiynVlJ7\
            vMVgePsLq6XtON4tB5kP9jAPrq3rbAOal78eUH5OcED6eNuCV8ixEu1eWcPNCS/l1OW1EnXUEoEHKl54Xrrz2uNwkgMTP1FZ1wKB\
            gAcCn1dwJKufzBWQxWQp1vsM5fggqPN1qGb5y0MAk3g7/Ls5bkUp5u9SN0Ai3Ya6hNnvWJMb7sXQX6U/zyO2M/hTip7tUeh7CXgw\
            o59dkpN75gJLVds29+DAncu3KXU4f2Fa+7bLNrur53k8KwPOq2bbuTG69QtV7Jr5MR0AHWKNAoGBAIf/evpitUf+4JYbLpvNXWcY\
            052Mpz22aR84mY3nh3F2LF2mjMJDpTg7FmuyPcVw6EcGyoAe9fa65iNqCq+jdw6PVNGo2hxfjSiZ8IIzHdsPXI89//pMjZcQK9r+\
            CCoRjaZjOYiIDktVWZzmevJuv6WywUqd57LE3Zar3dLSIkx1AoGAIYd7DHOhrWvxkwPQsRM2tOgrjbcrfvtQJipd+DlcxyVuuM9s\
            QLdgjVk2oy26F0EmpScGLq2MowX7fhd/QJQ3ydy5cY7YIBi87w93IKLEdfnbJtoOPLUW0ITrJReOgo1cq9SbsxYawBgfp/gh6A56\
            03k2+ZQwVK0JKSHuLFkuQ3U=
            """
        let pem = "-----BEGIN PRIVATE KEY-----\n\(der)\n-----END PRIVATE KEY-----\n"
        let key = try ServiceAccountKey(pem: pem, keyID: nil, clientEmail: "joe", audience: "https://example.com")
        let signed =
            "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290"
            + "Ijp0cnVlfQ"
        let signature = """
            cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9\
            uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB\
            _eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rq\
            Vt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw
            """
        #expect(try key.signature(of: signed) == signature)
    }

    @Test(arguments: [
        ("type", "authorized_user", "of type authorized_user"), ("project_id", "", "project_id is missing"),
        ("client_email", "a b@c", "client_email contains"), ("private_key", "none", "not an RSA private key"),
        ("token_uri", "http://example.org", "has to be https"),
    ])
    func `an unusable service account is refused with the reason`(
        field: String, value: String, words: String
    ) throws {
        let json = try SampleAccount().json { $0[field] = value }
        let error = #expect(throws: FCMCredentialsError.self) { try FCMCredentials(serviceAccount: json) }
        #expect(error?.reason.contains(words) == true, "\(String(describing: error))")
    }

    @Test(arguments: ["", "{", "[]", "{}", #"{"project_id":1}"#, #"{"project_id":"p","client_email":"e"}"#])
    func `bytes that are no service account are refused`(text: String) {
        #expect(throws: FCMCredentialsError.self) { try FCMCredentials(serviceAccount: Array(text.utf8)) }
    }
}
