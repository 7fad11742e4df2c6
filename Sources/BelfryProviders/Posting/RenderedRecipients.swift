import BelfryService

/// The recipients whose message is not too large, with the payload of each where those differ, and where they stand among all.
struct RenderedRecipients {
    let recipients: [Recipient]
    /// Payloads, one for each of the recipients; nil where all get the same.
    let payloads: [[UInt8]]?
    private let places: [Int]
    private let count: Int

    /// - Parameters:
    ///   - template: nil where all get the same.
    ///   - payload: returns nil where it would be too large.
    init(
        _ recipients: [Recipient], _ template: PayloadTemplate?,
        payload: (PayloadTemplate, PersonalizedValues) -> [UInt8]?
    ) {
        count = recipients.count
        guard let template else {
            self.recipients = recipients
            payloads = nil
            places = []
            return
        }
        var fitting: [Recipient] = []
        var payloads: [[UInt8]] = []
        var places: [Int] = []
        let empty = PersonalizedValues(PersonalizedValues.Values())
        for (place, recipient) in recipients.enumerated() {
            guard let own = payload(template, recipient.filling ?? empty) else { continue }
            fitting.append(recipient)
            payloads.append(own)
            places.append(place)
        }
        self.recipients = fitting
        self.payloads = payloads
        self.places = places
    }

    /// One outcome for each recipient, from those of the ones that were sent to.
    func outcomes(_ outcomes: [Outcome]) -> [Outcome] {
        guard payloads != nil else { return outcomes }
        var all = [Outcome](repeating: .refused(.payloadTooLarge), count: count)
        for (place, outcome) in zip(places, outcomes) { all[place] = outcome }
        return all
    }
}
