import BelfryService

/// Whatever is written for an audience means the same in both of its forms, or is refused with a reason.
func audiences(_ bytes: [UInt8]) {
    let text = String(decoding: bytes, as: UTF8.self)
    check { () throws(InvalidInput) in try AudienceExpression(text: text, field: "where") }
    check { () throws(InvalidInput) in
        try AudienceExpression(json: JSONValue(json: bytes, field: "where"), field: "where")
    }
}

private func check(_ read: () throws(InvalidInput) -> AudienceExpression) {
    do throws(InvalidInput) {
        let expression = try read()
        let text = try AudienceExpression(text: expression.text, field: "where")
        precondition(text.simplified == expression.simplified, expression.text)
        let json = try AudienceExpression(json: expression.json, field: "where")
        precondition(json == expression, expression.text)
    } catch {
        precondition(!error.problem.isEmpty)
    }
}
