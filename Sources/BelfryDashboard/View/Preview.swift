/// A push as a device shows it, and the payload that makes it look so.
package struct Preview: Sendable {
    package enum Shape: String, Sendable { case phone, watch, android, browser, toast, plain }

    /// A class of the style sheet.
    package var shape: String
    package var label: String
    /// The name of the app.
    package let app: String
    package var title = ""
    package var subtitle = ""
    package var body = ""
    package var picture: String?
    package var badge: String?
    package var actions: [String] = []
    /// Parts that cannot be drawn, in words.
    package var note = ""
    /// The payload for the provider; nil where another picture has it.
    package var payload: String?
    /// The size of the payload against the provider's limit, in words.
    package var size: String?
    package var bytes = 0
    package var limit = 0

    package init(_ shape: Shape, _ label: String, _ app: String) {
        self.shape = shape.rawValue
        self.label = label
        self.app = app
    }

    /// Whether there is anything to see.
    package var isShown: Bool { !(title.isEmpty && subtitle.isEmpty && body.isEmpty) }

    package mutating func measure(_ bytes: Int, of limit: Int, _ taker: String, _ head: String = "") {
        (self.bytes, self.limit) = (bytes, limit)
        size = "\(head)\(bytes.grouped) of \(limit.grouped) bytes that \(taker) takes"
    }
}
