import Outbound
import Testing

@Suite struct TLSWordsTests {
    @Test(arguments: [
        (
            "handshakeFailed(NIOSSL.BoringSSLError.sslError([Error: 268435581 error:1000007d:SSL "
                + "routines:OPENSSL_internal:CERTIFICATE_VERIFY_FAILED at x.cc:1]))",
            "the server's certificate is not trusted: its issuer is unknown, or it has expired"
        ),
        ("NIOSSLExtraError.failedToValidateHostname: x", "the server's certificate is for another host"),
        ("error:100000f7:SSL routines:OPENSSL_internal:WRONG_VERSION_NUMBER", "the server does not speak TLS"),
        ("error:1:SSL routines:OPENSSL_internal:UNSUPPORTED_PROTOCOL at y.cc:7", "unsupported protocol"),
        ("something else", "the handshake failed"),
    ])
    func `an error of TLS is told in words`(error: String, words: String) {
        #expect(Outbound.tlsWords(error) == words)
    }
}
