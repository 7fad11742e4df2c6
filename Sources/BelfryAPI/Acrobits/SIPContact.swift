import BelfryService

/// The push parameters of a SIP contact: `pn-provider`, `pn-param` and `pn-prid`.
///
/// Linphone puts two tokens into one: `pn-param=TEAM.bundle.remote&voip;pn-prid=<token>:remote&<token>:voip`. Source: RFC 8599
/// §4.1 and §8; Flexisip, "Push notifications".
struct SIPContact: Sendable, Hashable {
    private(set) var account: String?
    private let provider: String
    private let parameter: String
    private let token: String

    /// From `sip:alice@example.org;pn-provider=…`, also within angle brackets, or the parameters alone. nil without the three.
    init?(_ text: String) {
        let address = text.split(separator: "<", maxSplits: 1).last ?? ""
        let parts = address.prefix { $0 != ">" && $0 != "?" }.split(separator: ";")
        var values: [String: String] = [:]
        for part in parts {
            let pair = part.split(separator: "=", maxSplits: 1)
            guard pair.count == 2 else { continue }
            values[pair[0].lowercased()] = String(percentDecoding: pair[1], plusIsSpace: false)
        }
        self.init(provider: values["pn-provider"], parameter: values["pn-param"], token: values["pn-prid"])
        let scheme = parts.first?.prefix { $0 != ":" }.lowercased()
        guard scheme == "sip" || scheme == "sips", let user = parts.first?.drop(while: { $0 != ":" }).dropFirst(),
            user.contains("@")
        else { return }
        account = String(percentDecoding: user.prefix { $0 != "@" && $0 != ":" }, plusIsSpace: false)
    }

    init?(provider: String?, parameter: String?, token: String?) {
        guard let provider = provider?.lowercased(), let parameter, let token else { return nil }
        self.provider = provider
        self.parameter = parameter
        self.token = token
    }

    func add(to report: inout AcrobitsReport) {
        report.account = report.account ?? account
        switch provider {
        case "apns", "apns.dev": addApple(to: &report)
        case "fcm":
            guard let token = AcrobitsToken(token) else { return }
            report.other = AcrobitsReport.Pair(token: token, appID: parameter)
        default: return
        }
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
