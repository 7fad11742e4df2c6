import BelfryService

extension AcrobitsCall {
    /// Reads a call of the JSON interface. The selector is required, except for a text that is just shown.
    init(json value: JSONValue) throws(InvalidInput) {
        guard case .object(let members) = value else {
            throw InvalidInput(field: "body", "has to be an object, it is \(value.typeName)")
        }
        var fields: [String: String] = [:]
        for (name, member) in members where !member.isNull { fields[name] = member.flat }
        try self.init(fields)
        if verb.needsSelector, selector == nil { throw InvalidInput.missing("Selector") }
    }

    /// Reads a call of the form interface, whose clients may leave the selector out. Source: smsglue.
    init(form text: Substring) throws(InvalidInput) {
        var fields: [String: String] = [:]
        for parameter in text.split(separator: "&") {
            let parts = parameter.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2 else { continue }
            fields[String(percentDecoding: parts[0], plusIsSpace: true)] = String(
                percentDecoding: parts[1], plusIsSpace: true)
        }
        try self.init(fields)
    }

    private init(_ fields: [String: String]) throws(InvalidInput) {
        func required(_ name: String) throws(InvalidInput) -> String {
            guard let text = fields[name], !text.isEmpty else { throw InvalidInput.missing(name) }
            return text
        }
        let verb = AcrobitsVerb(try required("verb"))
        guard let token = AcrobitsToken(try required("DeviceToken")) else {
            throw InvalidInput(field: "DeviceToken", "is no token: it is Base64, as the softphone reported it")
        }
        let selector = fields["Selector"].flatMap { $0.isEmpty ? nil : $0 }
        self.init(verb: verb, appID: try required("AppId"), token: token, selector: selector, fields: fields)
        if verb == .genericTextMessage { _ = try required("Message") }
    }
}
