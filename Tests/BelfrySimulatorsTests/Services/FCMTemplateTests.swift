import Testing

@testable import BelfrySimulators

@Suite struct FCMTemplateTests {
    private let text = #"{"message":{"token":"abc:1","data":{"k":"v"}}}"#

    private func found(_ body: String, like text: String, token: String = "abc:1") -> String? {
        FCMTemplate(Array(text.utf8), token: token)?.token(of: Array(body.utf8))
    }

    @Test(arguments: ["x", "abc:1", "a-longer_token:2"]) func `a message to another token is the same`(token: String) {
        #expect(found(#"{"message":{"token":"\#(token)","data":{"k":"v"}}}"#, like: text) == token)
    }

    @Test(arguments: [
        #"{"message":{"token":"x","data":{"k":"w"}}}"#, #"{"message":{"token":"x","data":{"k":"v"}}} "#,
        #"{"message":{"token":"","data":{"k":"v"}}}"#, #"{"message":{"token":"x","a":"","data":{"k":"v"}}}"#,
        #"{"message":{"token":"x\u0061","data":{"k":"v"}}}"#, "", "{}",
    ])
    func `any other difference is read anew`(body: String) {
        #expect(found(body, like: text) == nil)
    }

    @Test(arguments: [
        #"{"message":{"token":"abc:1","data":{"k":"abc:1"}}}"#, #"{"message":{"token" : "abc:1"}}"#,
        #"{"message":{"token":"\u0061bc:1","data":{"k":"v"}}}"#,
    ])
    func `a token that may stand elsewhere makes no template`(text: String) {
        #expect(FCMTemplate(Array(text.utf8), token: "abc:1") == nil)
    }
}
