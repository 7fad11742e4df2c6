extension Outbound {
    /// Many items in their order, `count` at a time.
    public static func parts<Item>(of items: [Item], count: Int) -> [ArraySlice<Item>] {
        stride(from: 0, to: items.count, by: count).map { items[$0..<min($0 + count, items.count)] }
    }
}
