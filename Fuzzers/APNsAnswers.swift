import APNs

/// Whatever status and body come from APNs, there is an answer.
func apnsAnswers(_ bytes: [UInt8]) {
    for status in [200, 400, 403, 410, 413, 429, 500, 503, 999] {
        let answer = APNsAnswer(status: status, body: bytes.span)
        if case .accepted = answer { precondition(status == 200) } else { precondition(status != 200) }
    }
}
