extension String {
    /// The longest beginning of whole characters that fits.
    func prefix(bytes: Int) -> String {
        guard utf8.count > bytes else { return self }
        var text = Substring(self).prefix(bytes)
        while text.utf8.count > bytes { text.removeLast() }
        return String(text)
    }
}
