/// Watches the share of devices that a provider declares dead, so that a wrong setting cannot prune a whole platform.
///
/// A key of the wrong app makes every token look dead. Past the share, deaths are not believed until a person says so.
package struct DeathWatch: Sendable, Hashable {
    /// The share of deaths, 0...1, beyond which the platform is parked.
    package let shareMax: Double
    /// Fewer answers than this prove nothing.
    package let answersMin: Int

    private var answers = 0
    private var deaths = 0

    package init(shareMax: Double = 0.2, answersMin: Int = 1_000) {
        self.shareMax = shareMax
        self.answersMin = answersMin
    }

    /// Counts a settlement, and returns the words for a person when the wave is too high.
    ///
    /// The counts are halved at four times `answersMin`, so that the share is that of the recent past.
    package mutating func observe(_ settlement: Settlement) -> String? {
        answers += settlement.counts.reduce(0) { $1.key == .skippedInactive ? $0 : $0 + $1.value }
        deaths += settlement.deaths.count
        guard answers >= answersMin else { return nil }
        let share = Double(deaths) / Double(answers)
        guard share <= shareMax else {
            let words =
                "\(deaths) of the last \(answers) devices were declared dead, the limit is \(Int(shareMax * 100)) %"
            (answers, deaths) = (0, 0)
            return words
        }
        if answers >= answersMin * 4 { (answers, deaths) = (answers / 2, deaths / 2) }
        return nil
    }
}

extension Answer {
    fileprivate static let skippedInactive = Answer.skipped(.inactive)
}
