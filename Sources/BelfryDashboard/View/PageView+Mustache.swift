import Mustache

// Templates read each name of the values that pages have most of at once. Others are read by a mirror of the whole value:
// a list of fifty devices took six times as long so. `PageTests` compares the names with the properties.

extension Table.Row: MustacheParent {
    package func child(named name: String) -> Any? {
        switch name {
        case "cells": cells
        case "forms": forms
        case "hasForms": hasForms
        default: nil
        }
    }
}

extension Table.Cell: MustacheParent {
    package func child(named name: String) -> Any? {
        switch name {
        case "label": label
        case "isNumber": isNumber
        case "values": values
        default: nil
        }
    }
}

extension Value: MustacheParent {
    package func child(named name: String) -> Any? {
        switch name {
        case "text": text
        case "href": href
        case "isLink": isLink
        case "iso": iso
        case "isTime": isTime
        case "tone": tone
        case "isBadge": isBadge
        case "isCode": isCode
        case "isNumber": isNumber
        case "isPlain": isPlain
        default: nil
        }
    }
}

extension Link: MustacheParent {
    package func child(named name: String) -> Any? {
        switch name {
        case "text": text
        case "href": href
        case "isCurrent": isCurrent
        case "isMain": isMain
        default: nil
        }
    }
}

extension Field: MustacheParent {
    package func child(named name: String) -> Any? {
        switch name {
        case "name": self.name
        case "label": label
        case "value": value
        case "hint": hint
        case "problem": problem
        case "isWrong": isWrong
        case "isRequired": isRequired
        case "type": type
        case "autocomplete": autocomplete
        case "options": options
        case "placeholder": placeholder
        case "accept": accept
        case "isText": isText
        case "isArea": isArea
        case "isSelect": isSelect
        case "isCheck": isCheck
        case "isFile": isFile
        case "isChecked": isChecked
        case "isFocused": isFocused
        case "isMono": isMono
        default: nil
        }
    }
}

extension Field.Option: MustacheParent {
    package func child(named name: String) -> Any? {
        switch name {
        case "value": value
        case "label": label
        case "isSelected": isSelected
        default: nil
        }
    }
}
