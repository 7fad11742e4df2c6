import BelfryService
import FoundationEssentials
import KeyFiles

extension Settings {
    /// More than any login page should offer.
    private static let issuersMax = 8
    private static let secretBytesMax = 1_024

    /// `dashboard.sso.issuers`, and for each name in it `dashboard.sso.<name>.issuer`, `.client.id`, `.client.secret.file`, `.title`,
    /// `.scopes`, `.roles`, `.private`, `.trust.root.file` and `.email.unverified`.
    func issuers() -> [Issuer] {
        let names = words("dashboard.sso.issuers")
        guard names.count <= Self.issuersMax, Set(names).count == names.count else {
            note("dashboard.sso.issuers has \(names.count) names, it takes \(Self.issuersMax) different ones at most")
            return []
        }
        return names.compactMap { name in
            // A part of addresses, and of the names of variables.
            guard name.utf8.count <= 32,
                name.utf8.allSatisfy({ (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) })
            else {
                note("dashboard.sso.issuers has `\(name.quotable)`, a name has 1 to 32 letters a-z and digits")
                return nil
            }
            return issuer(name)
        }
    }

    private func issuer(_ name: String) -> Issuer? {
        func key(_ rest: String) -> String { "dashboard.sso.\(name).\(rest)" }
        let isPrivate = bool(key("private"), default: false)
        let title = string(key("title"), default: name)
        let url = optionalString(key("issuer")) ?? ""
        let clientID = optionalString(key("client.id")) ?? ""
        let file = optionalString(key("client.secret.file"))
        let rootFile = optionalString(key("trust.root.file"))
        let takesUnverifiedEmail = bool(key("email.unverified"), default: false)
        let scopes = words(key("scopes"))
        var rules: [RoleRule] = []
        for text in words(key("roles")) {
            do { rules.append(try RoleRule(text, field: key("roles"))) } catch { note(error.description) }
        }
        let isAcceptable = Issuer.isAcceptable(url, isPrivate: isPrivate)
        if clientID.isEmpty { note("\(key("client.id")) is not set, it is what the issuer calls this server") }
        if !isAcceptable {
            note(
                "\(key("issuer")) is `\(url.quotable)`, it has to be an https:// address; at this machine http:// is taken with "
                    + key("private"))
        }
        guard isAcceptable, !clientID.isEmpty else { return nil }
        var secret: String?
        if let file {
            guard let text = clientSecret(in: file, key("client.secret.file")) else { return nil }
            secret = text
        }
        var trustRoots: String?
        if let rootFile {
            guard let text = certificates(in: rootFile, key("trust.root.file")) else { return nil }
            trustRoots = text
        }
        return Issuer(
            name: name, title: title, url: url, clientID: clientID, clientSecret: secret,
            scopes: scopes.isEmpty ? ["openid", "email", "profile"] : scopes, rules: rules, isPrivate: isPrivate,
            takesUnverifiedEmail: takesUnverifiedEmail, trustRoots: trustRoots)
    }

    private func clientSecret(in file: String, _ key: String) -> String? {
        guard let bytes = contents(key, file) else { return nil }
        let text = String(decoding: bytes, as: UTF8.self).filter { !$0.isNewline }
        guard (1...Self.secretBytesMax).contains(text.utf8.count) else {
            note("\(key) holds \(text.utf8.count) bytes, it has to be 1...\(Self.secretBytesMax)")
            return nil
        }
        return text
    }

    private func certificates(in file: String, _ key: String) -> String? {
        guard let bytes = contents(key, file) else { return nil }
        guard let found = try? PEMFile.certificates(in: Array(bytes)), !found.isEmpty else {
            note("\(key) cannot be used: \(file.absolutePath) holds no certificate in PEM")
            return nil
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
