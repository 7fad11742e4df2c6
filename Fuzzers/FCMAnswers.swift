import FCM

/// Whatever status and body come from FCM, there is an answer, and nothing unprintable in what may reach a log.
func fcmAnswers(_ bytes: [UInt8]) {
    for status in [200, 400, 401, 403, 404, 429, 500, 502, 999] {
        switch FCMAnswer(status: status, body: bytes[...]) {
        case .accepted(let receipt):
            precondition(status == 200)
            _ = receipt.name
        case .rejected(let rejection):
            precondition(rejection.status == status && (status != 200 || rejection.code == .unavailable))
            let words = [rejection.code.text] + rejection.fields
            precondition(words.allSatisfy { $0.utf8.allSatisfy { 0x21...0x7E ~= $0 } })
            _ = rejection.isAboutToken
        default: preconditionFailure("an answer is an answer")
        }
    }
}

/// Whatever is given for a topic or condition of FCM, it is one or is refused with a reason.
func fcmAudiences(_ bytes: [UInt8]) {
    let text = String(decoding: bytes, as: UTF8.self)
    do throws(FCMAudienceError) {
        switch try FCMAudience(text) {
        case .topic(let name): precondition(text == "/topics/\(name)" && !name.isEmpty)
        case .condition(let condition): precondition(condition == text && text.contains("' in"))
        }
    } catch {
        precondition(!error.description.isEmpty)
    }
}
