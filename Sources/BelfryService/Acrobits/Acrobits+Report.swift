extension Acrobits {
    /// A request to a reporter, in whatever spelling the operator chose.
    struct ReportRequest: Sendable {
        /// The path behind the key, without slashes before it; still percent-encoded, since a token may hold a slash.
        var path: Substring = ""
        var query: Substring = ""
        var contentType: String?
        var body: [UInt8] = []
    }
}

extension AcrobitsReport {
    /// Never throws: a softphone repeats a refused report for ever, so unreadable parts are left out.
    init(_ request: Acrobits.ReportRequest, template: Acrobits.Template = .none) {
        var values = Acrobits.Values(template: template)
        values.readPath(request.path)
        values.readParameters(of: request.query)
        values.readBody(request)
        self = values.report
    }
}

extension Acrobits {
    /// The values of a report, as they are found.
    struct Values {
        private let template: Template
        private var found: [Field: (rank: Int, text: String)] = [:]

        init(template: Template) { self.template = template }

        /// Ranks, of which the lowest wins: names of the template, then usual names, then places in the path.
        private static let byTemplate = -1
        private static let byPlace = 100

        private mutating func take(_ text: String, as field: Field, rank: Int) {
            guard let text = Self.meant(text) else { return }
            if let old = found[field], old.rank < rank { return }
            found[field] = (rank, text)
        }

        /// nil for what cannot be kept or says nothing: an app that has no token yet writes nothing, or `null`; one that does not know a placeholder
        /// leaves it as it is. Source: Acrobits, "Push Token Reporter", the first note.
        private static func meant(_ text: String) -> String? {
            // Blanks stay: at the beginning of a token one was a plus sign.
            let word = text.lowercased().filter { !$0.isWhitespace }
            if ["", "null", "(null)", "nil", "undefined"].contains(word) || text.utf8.contains(0) { return nil }
            return text.count > 2 && text.hasPrefix("%") && text.hasSuffix("%") ? nil : text
        }

        private mutating func take(_ name: String, _ text: String) {
            if let known = template.names[name.lowercased()] {
                if let field = known { take(text, as: field, rank: Self.byTemplate) }
            } else if let usual = Field.usual(name) {
                take(text, as: usual.field, rank: usual.rank)
            }
        }

        // MARK: Query and body

        mutating func readParameters(of text: Substring) {
            for parameter in text.split(separator: "&") {
                let parts = parameter.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                guard parts.count == 2 else { continue }
                // A `+` is one of Base64: softphones encode blanks otherwise.
                take(
                    String(percentDecoding: parts[0], plusIsSpace: false),
                    String(percentDecoding: parts[1], plusIsSpace: false))
            }
        }

        mutating func readBody(_ request: ReportRequest) {
            let type = request.contentType?.lowercased() ?? ""
            var reader = JSONReader(request.body)
            if type.contains("json") || reader.isAtObject() { return readMembers(of: request.body) }
            // What else an app sends is for others: voipbits puts a password there as plain text.
            guard type.isEmpty || type.contains("form-urlencoded") else { return }
            readParameters(of: String(decoding: request.body, as: UTF8.self).trimmingSpaces)
        }

        private mutating func readMembers(of body: [UInt8]) {
            // The values are not escaped by the app, so that a text of its user may spoil the object from there on.
            try? JSONReader.document(body) { reader, name throws(InvalidInput) in
                let value = try reader.value(name)
                switch value {
                case .string, .integer, .number: take(name, value.flat)
                default: return
                }
            }
        }

        // MARK: Path

        mutating func readPath(_ path: Substring) {
            guard !template.path.isEmpty else { return readUsualPath(path) }
            for (field, text) in template.values(of: path) { takePart(text, as: field, rank: Self.byTemplate) }
        }

        private mutating func takePart(_ text: Substring, as field: Field, rank: Int) {
            take(String(percentDecoding: text, plusIsSpace: false), as: field, rank: rank)
        }

        /// The layouts of the guide and of public receivers: `pushToken/<account>/<selector>/<token>&appid=<app id>`,
        /// `token/<account>`, `report/<id>/<token>/<app id>`, `sms/device/<id>/<selector>/<token>/<app id>`. A value that the softphone does not
        /// have is empty, and keeps its place.
        private mutating func readUsualPath(_ path: Substring) {
            let parts = path.split(separator: "&", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2 { readParameters(of: parts[1]) }
            let all = parts[0].split(separator: "/", omittingEmptySubsequences: false)
            let segments = Array(all.drop(while: Self.isWord))
            guard segments.count < all.count else { return }
            for (segment, field) in zip(segments, Self.layout(of: segments)) {
                takePart(segment, as: field, rank: Self.byPlace)
            }
        }

        private static func isWord(_ segment: Substring) -> Bool {
            words.contains(segment.lowercased())
        }

        private static let words: Set = [
            "pushtoken", "push-token", "token", "report", "sms", "device", "remove", "received", "v1", "api", "client",
            "acrobits", "push_token_report",
        ]

        private static func layout(of segments: [Substring]) -> [Field] {
            guard let selector = segments.firstIndex(where: isSelector) else {
                return [.account, .otherToken, .otherAppID]
            }
            let before: [Field] = selector == 0 ? [] : [.account]
            guard before.count == selector else { return [] }
            return before + [.selector, .otherToken, .otherAppID]
        }

        /// 40 hex digits, a colon, 8 more. Source: the guide's example.
        private static func isSelector(_ segment: Substring) -> Bool {
            let parts = String(percentDecoding: segment).split(separator: ":")
            return parts.count == 2 && parts[0].count == 40 && parts[1].count == 8
                && parts.allSatisfy { $0.allSatisfy(\.isHexDigit) }
        }

        // MARK: The report

        var report: AcrobitsReport {
            var report = AcrobitsReport(
                account: found[.account]?.text, selector: selector, calls: pair(.callsToken, .callsAppID),
                other: pair(.otherToken, .otherAppID), pushID: found[.pushID]?.text)
            if let contact { contact.add(to: &report) }
            return report
        }

        private var selector: String? {
            found[.selector].flatMap {
                $0.text.utf8.count <= AcrobitsRegistration.selectorBytesMax ? $0.text : nil
            }
        }

        private func pair(_ token: Field, _ appID: Field) -> AcrobitsReport.Pair? {
            guard let token = found[token].flatMap({ AcrobitsToken($0.text) }) else { return nil }
            return AcrobitsReport.Pair(token: token, appID: found[appID]?.text)
        }

        private var contact: SIPContact? {
            if let text = found[.contact]?.text { return SIPContact(text) }
            guard let provider = found[.provider]?.text, let parameter = found[.providerParameter]?.text,
                let token = found[.providerToken]?.text
            else { return nil }
            return SIPContact(provider: provider, parameter: parameter, token: token)
        }
    }
}

/// The push parameters of a SIP contact: `pn-provider`, `pn-param` and `pn-prid`.
///
/// Linphone puts two tokens into one: `pn-param=TEAM.bundle.remote&voip;pn-prid=<token>:remote&<token>:voip`. Source: RFC 8599
/// §4.1 and §8; Flexisip, "Push notifications".
struct SIPContact: Sendable, Hashable {
    private(set) var account: String?
    private let provider: String
    let parameter: String
    private let token: String

    /// From `sip:alice@example.org;pn-provider=…`, also within angle brackets, or the parameters alone. nil without the three.
    init?(_ text: String) {
        let values = Self.parameters(of: text)
        guard let provider = values["pn-provider"], let parameter = values["pn-param"], let token = values["pn-prid"]
        else { return nil }
        self.init(provider: provider, parameter: parameter, token: token)
        let parts = Self.parts(of: text)
        let scheme = parts.first?.prefix { $0 != ":" }.lowercased()
        guard scheme == "sip" || scheme == "sips", let user = parts.first?.drop(while: { $0 != ":" }).dropFirst(),
            user.contains("@")
        else { return }
        account = String(percentDecoding: user.prefix { $0 != "@" && $0 != ":" }, plusIsSpace: false)
    }

    init(provider: String, parameter: String, token: String) {
        self.provider = provider.lowercased()
        self.parameter = parameter
        self.token = token
    }

    /// The parameters of a contact, by their names in small letters.
    static func parameters(of text: String) -> [String: String] {
        var values: [String: String] = [:]
        for part in parts(of: text) {
            let pair = part.split(separator: "=", maxSplits: 1)
            guard pair.count == 2 else { continue }
            values[pair[0].lowercased()] = String(percentDecoding: pair[1], plusIsSpace: false)
        }
        return values
    }

    private static func parts(of text: String) -> [Substring] {
        (text.split(separator: "<", maxSplits: 1).last ?? "").prefix { $0 != ">" && $0 != "?" }.split(separator: ";")
    }

    var isApple: Bool { provider == "apns" || provider == "apns.dev" }
    var isKnown: Bool { isApple || provider == "fcm" }
    var isOfDevelopment: Bool { provider == "apns.dev" }

    func add(to report: inout AcrobitsReport) {
        report.account = report.account ?? account
        if isApple { return addApple(to: &report) }
        guard isKnown, let token = AcrobitsToken(token) else { return }
        report.other = AcrobitsReport.Pair(token: token, appID: parameter)
    }

    private func addApple(to report: inout AcrobitsReport) {
        for piece in token.split(separator: "&") {
            let parts = piece.split(separator: ":", maxSplits: 1)
            guard let token = parts.first.flatMap({ AcrobitsToken(String($0)) }) else { continue }
            let isForCalls = parts.count == 2 ? parts[1] == "voip" : services.contains("voip")
            let pair = AcrobitsReport.Pair(token: token, appID: isForCalls ? "\(bundle).voip" : bundle)
            if isForCalls { report.calls = pair } else { report.other = pair }
        }
    }

    /// The last part of the parameter, where it names services: `voip`, `remote`, or both with `&` between.
    private var services: [Substring] {
        let last = parameter.split(separator: ".").last?.split(separator: "&") ?? []
        return last.allSatisfy { $0 == "voip" || $0 == "remote" } ? last : []
    }

    /// The bundle id, without the team before it and the services behind it.
    private var bundle: String {
        var parts = parameter.split(separator: ".")
        if !services.isEmpty { parts.removeLast() }
        if let team = parts.first, team.utf8.count == 10, team.allSatisfy({ $0.isNumber || $0.isUppercase }) {
            parts.removeFirst()
        }
        return parts.joined(separator: ".")
    }
}
