import BelfryService

/// The recipients of a batch whose tokens are addresses, and their positions in it.
struct ParsedRecipients<Address> {
    let addresses: [Address]
    private let places: [Int]
    private let count: Int

    init(_ recipients: [Recipient], _ address: (Recipient) throws -> Address) {
        var addresses: [Address] = []
        var places: [Int] = []
        for (place, recipient) in recipients.enumerated() {
            guard let address = try? address(recipient) else { continue }
            addresses.append(address)
            places.append(place)
        }
        self.addresses = addresses
        self.places = places
        count = recipients.count
    }

    /// Picks the values of the recipients with addresses.
    ///
    /// - Parameter values: one for each recipient.
    func addressed<Value>(_ values: [Value]) -> [Value] { places.map { values[$0] } }

    /// One outcome for each recipient; a token that is not an address is a bad one.
    func outcomes(_ outcomes: [Outcome]) -> [Outcome] {
        var all = Array(repeating: Outcome.refused(.badToken), count: count)
        for (place, outcome) in zip(places, outcomes) { all[place] = outcome }
        return all
    }
}

extension Recipient {
    /// The token as text.
    var text: String { String(decoding: token.bytes, as: UTF8.self) }
}

extension Push {
    /// Whole seconds until it expires; nil without an expiry.
    func lifetime(at now: Instant) -> Int? {
        expiresAt.map { Int(max(($0 - now).milliseconds, 0) / 1_000) }
    }
}
