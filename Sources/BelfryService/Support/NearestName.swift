extension Sequence<String> {
    /// The name that was probably meant by another; nil where none is near.
    ///
    /// Case and separators do not count. The fewest edits decide, two at most, and then whether one name is part of the other.
    package func nearest(to written: String) -> String? {
        guard 1...NearestName.bytesMax ~= written.utf8.count else { return nil }
        let name = NearestName.plain(written)
        let known = map { (name: $0, plain: NearestName.plain($0)) }
        let letters = name.utf8.sorted()
        let nearest = known.map { known in
            (name: known.name, edits: known.plain.edits(to: name, letters))
        }.min { $0.edits < $1.edits }
        if let nearest, nearest.edits <= (name.utf8.count < 5 ? 1 : 2) { return nearest.name }
        let parts = known.filter {
            Swift.min($0.plain.utf8.count, name.utf8.count) >= NearestName.partBytesMin
                && ($0.plain.contains(name) || name.contains($0.plain))
        }
        return parts.max { $0.plain.utf8.count < $1.plain.utf8.count }?.name
    }
}

extension String {
    /// The number of edits; two letters that changed places count as one.
    fileprivate func edits(to other: String, _ letters: [UInt8]) -> Int {
        self == other ? 0 : utf8.sorted() == letters ? 1 : edits(to: other)
    }
}

/// Compares unknown names with known ones.
package enum NearestName {
    /// The longest name that may be a misspelt one.
    static let bytesMax = 64
    static let partBytesMin = 4

    /// Without case and separators.
    package static func plain(_ name: String) -> String {
        let separators = "_-. ".utf8
        return String(decoding: name.utf8.filter { !separators.contains($0) }, as: UTF8.self).lowercased()
    }
}

extension InvalidInput {
    /// The refusal of an unknown member.
    ///
    /// - Parameters:
    ///   - path: of the member, as the caller spells it.
    ///   - key: its last part.
    ///   - whole: what it is no member of, such as `a field of this request`.
    ///   - meant: the name that is probably meant; nil finds the nearest of the known ones.
    package static func unknown(
        _ path: String, _ key: String, notOf whole: String, known: [String], meant: String? = nil
    ) -> InvalidInput {
        let meant = (meant ?? known.nearest(to: key)).map { " (is \($0) meant?)" } ?? ""
        let taken = known.isEmpty ? ", which takes none" : ", which takes \(known.joined(separator: ", "))"
        let path = path.utf8.count <= pathBytesMax ? path : "\(path.prefix(64))…"
        return InvalidInput(field: path, "is not \(whole)\(meant)\(taken)")
    }

    /// The most bytes of an unknown name in a message; the name may be as long as the request.
    private static let pathBytesMax = 160

    /// The fault, with the words that nothing was sent.
    package var withNothingSent: InvalidInput {
        InvalidInput(field: field, problem + "; nothing was sent", isTooLarge: isTooLarge)
    }
}
