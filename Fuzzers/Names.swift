import BelfryService

/// Whatever a name is written in, it has one normal form: of the same bytes, however often it is taken, in whatever pieces it was composed.
func names(_ bytes: [UInt8]) {
    let text = String(decoding: bytes, as: UTF8.self)
    for form in [text.normalized, text.caseFolded, text.lowerCase] {
        precondition(form.utf8.elementsEqual(form.normalized.utf8), "\(text) is not in its normal form")
    }
    precondition(text.caseFolded.utf8.elementsEqual(text.caseFolded.caseFolded.utf8), "\(text) folds twice")
    precondition(text.normalized == text, "\(text) is another text")
    // What Swift takes for the same name is the same bytes.
    var pieces = String.UnicodeScalarView()
    for scalar in text.unicodeScalars { pieces.append(contentsOf: String(scalar).normalized.unicodeScalars) }
    precondition((String(pieces) == text) == String(pieces).normalized.utf8.elementsEqual(text.normalized.utf8))
    if let topic = try? Topic.normalized(text, field: "topic") {
        precondition((try? Topic.normalized(topic, field: "topic"))?.utf8.elementsEqual(topic.utf8) == true)
    }
    if let id = try? User.checked(id: text) {
        precondition((try? User.checked(id: id))?.utf8.elementsEqual(id.utf8) == true)
    }
}

/// Whatever is given for a time is one and the same moment when it is written and read again, or refused with a reason.
func times(_ bytes: [UInt8]) {
    let text = String(decoding: bytes, as: UTF8.self)
    check(text) { text throws(InvalidInput) in try Instant(text, field: "time") }
    check(text) { text throws(InvalidInput) in try Instant(local: text, field: "time") }
    check(text) { text throws(InvalidInput) in try Instant(day: text, field: "time") }
    precondition((Instant(text: text) == nil) == ((try? Instant(text, field: "time")) == nil))
}

private func check(_ text: String, _ read: (String) throws(InvalidInput) -> Instant) {
    do throws(InvalidInput) {
        let instant = try read(text)
        precondition(instant.isWithinReach && Instant(text: instant.text) == instant, "\(text)")
    } catch {
        precondition(error.field == "time" && !error.problem.isEmpty)
    }
}
