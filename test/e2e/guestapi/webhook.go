package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// forbidden is the one colour that the webhook refuses.
const forbidden = "red"

// validate refuses a ConfigMap of the forbidden colour, and says from where it was asked.
func validate(w http.ResponseWriter, r *http.Request) {
	review := admissionv1.AdmissionReview{}
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil || review.Request == nil {
		http.Error(w, "not an AdmissionReview", http.StatusBadRequest)
		return
	}
	response := &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
	object := corev1.ConfigMap{}
	if err := json.Unmarshal(review.Request.Object.Raw, &object); err != nil {
		http.Error(w, "not a ConfigMap", http.StatusBadRequest)
		return
	}
	if object.Data["colour"] == forbidden {
		response.Allowed = false
		response.Result = &metav1.Status{Code: http.StatusForbidden, Message: fmt.Sprintf("%s is not a colour of this cluster, said to %s", forbidden, r.RemoteAddr)}
	}
	fmt.Fprintf(os.Stdout, "review of %s from %s: allowed=%t\n", object.Name, r.RemoteAddr, response.Allowed)
	review.Request, review.Response = nil, response
	answer(w, http.StatusOK, review)
}
