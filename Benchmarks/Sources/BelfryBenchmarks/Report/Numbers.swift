import Foundation

extension [Double] {
    /// The value that a share of all do not exceed; the median at 0.5.
    func quantile(_ share: Double) -> Double {
        guard !isEmpty else { return .nan }
        let sorted = sorted()
        return sorted[Swift.min(sorted.count - 1, Int((Double(sorted.count) * share).rounded(.up)) - 1)]
    }

    var median: Double {
        guard !isEmpty else { return .nan }
        let sorted = sorted()
        return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2
    }
}

extension Double {
    /// `12,345`
    var whole: String {
        guard isFinite else { return "–" }
        var text = ""
        for (place, digit) in String(Int(rounded())).reversed().enumerated() {
            if place > 0, place % 3 == 0, digit != "-" { text.append(",") }
            text.append(digit)
        }
        return String(text.reversed())
    }

    var perSecond: String { "\(whole) /s" }
    func fixed(_ digits: Int) -> String { isFinite ? String(format: "%.\(digits)f", self) : "–" }
}

extension Int {
    var grouped: String { Double(self).whole }
}
