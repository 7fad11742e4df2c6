@_spi(_Unicode) import Swift

// Names from outside. Texts that look equal to readers must be equal bytes, in Swift as in SQL.

extension String {
    /// Normalization Form C. ASCII is in that form already, and costs one pass. Source: Unicode Standard Annex #15.
    package var normalized: String {
        utf8.allSatisfy { $0 < 0x80 } ? self : Self(scalars: _nfc)
    }

    /// Normalization Form C with case folded, for names that compare without case: full folding, in no language's own way.
    /// Source: The Unicode Standard, section 3.13, toCasefold; CaseFolding.txt, statuses C and F.
    ///
    /// Most names are lower-case ASCII already: one pass then.
    package var caseFolded: String {
        var isFolded = true
        for byte in utf8 {
            guard byte < 0x80 else { return foldedScalars }
            if 0x41...0x5A ~= byte { isFolded = false }
        }
        return isFolded ? self : lowercased()
    }

    private var foldedScalars: String {
        Self(scalars: Self(scalars: _nfc.lazy.flatMap(\.caseFolded))._nfc)
    }

    /// Lower case in Normalization Form C, for names that other programs compare in lower case.
    package var lowerCase: String { normalized.lowercased().normalized }

    private init(scalars: some Sequence<Unicode.Scalar>) {
        var view = UnicodeScalarView()
        view.append(contentsOf: scalars)
        self.init(view)
    }
}

extension Unicode.Scalar {
    /// The lower case of the upper case is the folded form, but for Cherokee, which folds to upper case, and the dotless i, which is a
    /// letter of its own. See `TextOracleTests`.
    fileprivate var caseFolded: [Unicode.Scalar] {
        switch value {
        case 0x131, 0x13A0...0x13F5: [self]
        case 0x13F8...0x13FD, 0xAB70...0xABBF: Array(properties.uppercaseMapping.unicodeScalars)
        default:
            properties.lowercaseMapping.unicodeScalars.flatMap(\.properties.uppercaseMapping.unicodeScalars)
                .flatMap(\.properties.lowercaseMapping.unicodeScalars)
        }
    }
}
