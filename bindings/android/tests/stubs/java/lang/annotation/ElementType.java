// SPDX-License-Identifier: Apache-2.0
package java.lang.annotation;

/** As since API 26, before which android.jar has no annotations of types; D8 and ART ignore them. */
public enum ElementType {
  TYPE, FIELD, METHOD, PARAMETER, CONSTRUCTOR, LOCAL_VARIABLE, ANNOTATION_TYPE, PACKAGE, TYPE_PARAMETER, TYPE_USE
}
