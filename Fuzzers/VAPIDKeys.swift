import WebPush

/// Whatever is entered as a VAPID key or as its subject, it can be used or is refused; a key survives its text.
func vapidKeys(_ bytes: [UInt8]) {
    let text = String(decoding: bytes, as: UTF8.self)
    if let key = try? VAPIDKey(text) {
        guard let again = try? VAPIDKey(key.privateText) else { preconditionFailure("a key does not survive its text") }
        precondition(again.publicText == key.publicText && key.publicText.utf8.count == 87)
    }
    if (try? VAPID(key: fixed, subject: text)) != nil {
        // It goes into JSON as it is.
        precondition(bytes.allSatisfy { 0x21...0x7E ~= $0 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") })
    }
}

private let fixed = VAPIDKey()
