/// The protocols of Acrobits' softphones (Cloud Softphone, Groundwire) and their back ends: the push token reporter, and the mediator's
/// interface for senders.
///
/// Source: docs/compatibility/acrobits.md.
package enum Acrobits {
    static let root = "acrobits"
    /// A report is small.
    static let reportBytesMax = 16_384
    /// The limit of a message, and of a batch of them.
    static let callBytesMax = 65_536
    static let callsPerBatch = 100

    /// The meaning of a value in a report.
    enum Field: Hashable, Sendable {
        case account, selector
        case callsToken, callsAppID, otherToken, otherAppID
        case pushID
        /// A SIP contact of RFC 8599, or its parameters.
        case contact, provider, providerParameter, providerToken
    }
}

extension Acrobits.Field {
    /// The names that operators give to parameters, without case, `_`, `-` and brackets; of several the first one counts. Source:
    /// the guide and its samples, and the public receivers listed in docs/compatibility/acrobits.md.
    private static let names: [(Acrobits.Field, [String])] = [
        (.account, ["username", "account", "accountusername", "user", "sipusername", "clouduser", "cloudusername"]),
        (.selector, ["selector"]),
        (.callsToken, ["tokencalls", "pushtokenincomingcall", "tokencall", "pushtokencalls", "voiptoken"]),
        (.callsAppID, ["appidcalls", "pushappidincomingcall", "appidcall", "pushappidcalls", "voipappid"]),
        // In a report with `push_token` beside it `token` is a secret of the operator's. Source: aaisp-sms-proxy.
        (.otherToken, ["tokenmsgs", "pushtokenother", "pushtoken", "devicetoken", "token"]),
        (.otherAppID, ["appidmsgs", "pushappidother", "pushappid", "appid"]),
        (.pushID, ["receiptid", "pushid", "pushtestid", "id"]),
        (.contact, ["contact", "sipcontact"]),
        (.provider, ["pnprovider"]), (.providerParameter, ["pnparam"]), (.providerToken, ["pnprid"]),
    ]

    private static let byName: [String: (field: Acrobits.Field, rank: Int)] = Dictionary(
        uniqueKeysWithValues: names.flatMap { field, names in
            names.enumerated().map { rank, name in (name, (field, rank)) }
        })

    /// The field that a parameter's name usually means, and how surely: 0 is the surest.
    static func usual(_ name: String) -> (field: Acrobits.Field, rank: Int)? {
        let plain = name.lowercased().utf8.filter { 0x30...0x39 ~= $0 || 0x61...0x7A ~= $0 }
        return byName[String(decoding: plain, as: UTF8.self)]
    }

    /// The field that a placeholder of the softphone stands for; nil where none is needed. Source: Acrobits, "Push Token
    /// Reporter", Parameters.
    init?(placeholder: Substring) {
        switch placeholder.lowercased() {
        case "selector": self = .selector
        case "pushtoken", "pushtokenother": self = .otherToken
        case "pushtokenincomingcall": self = .callsToken
        case "pushappid", "pushappid_other": self = .otherAppID
        case "pushappid_incoming_call": self = .callsAppID
        case "account[username]", "account[cloud_username]", "account[authusername]": self = .account
        case "receiptid", "pushid": self = .pushID
        default: return nil
        }
    }
}

extension AcrobitsCall {
    /// Reads a call of the JSON interface. The selector is required, except for a text that is just shown.
    init(json value: JSONValue) throws(InvalidInput) {
        var fields: [String: String] = [:]
        for (name, member) in try value.demandObject("body") where !member.isNull { fields[name] = member.flat }
        try self.init(fields)
        if verb.needsSelector, selector == nil { throw InvalidInput.missing("Selector") }
    }

    /// Reads a call of the form interface, whose clients may leave the selector out. Source: smsglue.
    init(form text: String) throws(InvalidInput) {
        try self.init(QueryItems(String(text.trimmingSpaces)).values)
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
