import FoundationEssentials

/// A chosen file of a form that comes back. It travels in the form, sealed for the person, since browsers fill in no files.
struct KeptFile: Sendable {
    /// The file's name on the person's machine.
    let name: String
    private let sealed: String

    /// The prefix of the box's name, before that of the field with the file.
    static let prefix = "kept_"
    /// Files of a form that are longer together are to be chosen again: it has to be taken once more, with a third more bytes.
    static let bytesMax = 1 << 20

    /// nil where no file was chosen, or too long ones.
    init?(_ field: String, of visit: DashboardRequest) {
        let purpose = VaultPurpose.keptFile(of: visit.person.key, field)
        guard let bytes = visit.form.file(field), visit.form.fileBytes <= Self.bytesMax,
            let sealed = try? visit.services.vault.seal(Array(bytes), for: purpose)
        else { return nil }
        (name, self.sealed) = (visit.form.fileName(field), Data(sealed.bytes).base64URL)
    }

    /// A box that carries the file; without its tick no file is sent.
    func box(_ field: String) -> Tag {
        Tag("label", ["class": "kept"]) {
            Tag(
                "input",
                ["type": "checkbox", "name": Self.prefix + field, "value": "\(sealed) \(name)", "checked": true])
            " Kept: \(name.isEmpty ? "the file" : name)"
        }
    }
}

extension FormData {
    /// Puts files that travelled in the form where no other was chosen. Those of another person, or of another field, do not open.
    mutating func restoreFiles(of person: Person, by vault: any Vault) throws(InvalidInput) {
        for (name, value) in pairs where name.hasPrefix(KeptFile.prefix) {
            let field = String(name.dropFirst(KeptFile.prefix.count))
            let parts = value.split(separator: " ", maxSplits: 1).map(String.init)
            guard file(field) == nil, let sealed = parts.first.flatMap({ Data(base64URL: $0) }),
                let bytes = try? vault.open(
                    Sealed(bytes: Array(sealed)), for: VaultPurpose.keptFile(of: person.key, field))
            else { continue }
            try add(field, file: bytes[...], named: parts.count > 1 ? parts[1] : "")
        }
    }
}
