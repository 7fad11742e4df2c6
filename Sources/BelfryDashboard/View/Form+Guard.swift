import BelfryAPI
import BelfryService

extension Form {
    /// The name of the hidden field.
    private static let seen = "seen"

    /// This form with a digest of what it shows now, which comes back when it is posted. `DashboardRequest.trying` compares it with what the form
    /// would show then, so that a person overwrites only what they have seen.
    var guarded: Form {
        let shown = fields.map { "\($0.name)=\($0.isCheck ? String($0.isChecked) : $0.value)" }
        let digest = SecretHash.of(shown.joined(separator: "\u{0}")).prefix(16)
        return guarded(by: Array(digest).hex)
    }

    /// This form with the entity tag of its thing. Fields that offer things which others may add are not compared.
    func guarded(by tag: Admin.EntityTag) -> Form { guarded(by: tag.text.filter { $0 != "\"" }) }

    /// - Parameter seen: a digest of what the form concerns.
    func guarded(by seen: String) -> Form {
        var form = self
        form.hidden.append(Hidden(name: Self.seen, value: seen))
        return form
    }

    /// Throws when the posted form showed something else than this one, which is made of what is stored now.
    func demandUnchanged(since posted: FormData) throws(EditConflict) {
        let seen = posted.raw(Self.seen)
        guard let now = hidden.first(where: { $0.name == Self.seen }), !seen.isEmpty else { return }
        guard seen == now.value else { throw EditConflict() }
    }

    /// Keeps what was typed, and says what is stored now where that differs.
    mutating func showConflict(with posted: FormData) {
        let stored = (fields + groups.flatMap(\.fields)).filter { field in
            field.isCheck ? field.isChecked == posted[field.name].isEmpty : field.value != posted[field.name]
        }.map { field in
            "\(field.label): " + (field.isCheck ? (field.isChecked ? "on" : "off") : "\u{201c}\(field.value)\u{201d}")
        }
        keep(posted)
        problem =
            "Somebody else has changed this since you loaded the page. "
            + (stored.isEmpty ? "" : "Stored now: \(stored.joined(separator: "; ")). ")
            + "Save again to put yours in its place."
    }
}
